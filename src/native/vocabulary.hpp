// Words to row numbers: an open hash table over one block of UTF-8, in arrays that can lie in a mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "scanner.hpp"

namespace noppa {

// Appends a code point, a lone surrogate as U+FFFD.
void append_utf8(Code code, std::string* out);

uint64_t hash_of(const uint8_t* bytes, size_t length);

// Slots for `words` words whose bytes lie at text[bounds[i], bounds[i + 1]): 0 is empty, else the upper half of the hash
// over the row number plus one. Of equal words the first counts; `repeated` receives the others.
std::vector<uint64_t> build_slots(const uint8_t* text, const int64_t* bounds, int64_t words,
                                  std::vector<int64_t>* repeated);

// Rows [first, first + words) by their words; `bounds` and `slots` are those of these rows alone.
struct Index {
    const uint8_t* text;
    const int64_t* bounds;
    int64_t words;
    const uint64_t* slots;
    uint64_t mask;  // slots - 1, slots being a power of two
    int64_t first;
    size_t longest;  // bytes of the longest word

    int32_t find(const uint8_t* bytes, size_t length) const;
};

size_t longest_of(const int64_t* bounds, int64_t words);

enum Case : int { EXACT_THEN_LOWER = 0, EXACT = 1, LOWER = 2 };

class Vocabulary {
  public:
    Index words;
    Index pieces;  // no words where unknown words are not taken apart
    int letter_case;
    int32_t unknown;  // what a word that is not here becomes

    // Memory that a thread uses again and again.
    struct Scratch {
        std::string utf8;
        std::vector<Code> plain;
        std::vector<size_t> ends;
    };

    // Appends the row of the token, or the rows of its pieces, or `unknown`.
    void look_up(const Token& token, Scratch* scratch, std::vector<int32_t>* ids) const;

  private:
    int32_t find(const Token& token, Scratch* scratch) const;
    bool look_up_parts(const Token& token, Scratch* scratch, std::vector<int32_t>* ids) const;
    bool look_up_pieces(const Token& part, Scratch* scratch, std::vector<int32_t>* ids) const;
};

}  // namespace noppa
