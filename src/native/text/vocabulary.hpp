// Words to row numbers: an open hash table over one block of UTF-8, in arrays that can lie in a mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "text/scanner.hpp"

namespace noppa {

// Appends a code point, a lone surrogate as U+FFFD.
void append_utf8(Code code, std::string* out);

// Seed 0 is a fast hash that anyone can collide on purpose; any other seed is the key of SipHash-1-3.
uint64_t hash_of(const uint8_t* bytes, size_t length, uint64_t seed);

// Slots for `words` words whose bytes lie at text[bounds[i], bounds[i + 1]): 0 is empty, else the upper half of the hash
// over the row number plus one. Of equal words the first counts; `repeated` receives the others. No slots where the words
// collide under this seed.
std::vector<uint64_t> build_slots(const uint8_t* text, const int64_t* bounds, int64_t words, uint64_t seed,
                                  std::vector<int64_t>* repeated);

// What is wrong with slots that somebody stored, for so many words; null if nothing is.
const char* fault_of(const uint64_t* slots, uint64_t size, int64_t words);

// Rows [first, first + words) by their words; `bounds` and `slots` are those of these rows alone.
struct Index {
    const uint8_t* text;
    const int64_t* bounds;
    int64_t words;
    const uint64_t* slots;
    uint64_t mask;  // slots - 1, slots being a power of two
    uint64_t seed;
    int64_t first;
    size_t longest;  // bytes of the longest word

    int32_t find(const uint8_t* bytes, size_t length) const;
    // Whether a filled slot stands for this word.
    bool holds(uint64_t slot, uint64_t hash, const uint8_t* bytes, size_t length) const {
        if ((slot ^ hash) >> 32) return false;
        const int64_t id = int64_t(slot & 0xffffffffu) - 1;
        return size_t(bounds[id + 1] - bounds[id]) == length && !std::memcmp(text + bounds[id], bytes, length);
    }
};

size_t longest_of(const int64_t* bounds, int64_t words);

// How many characters the longest word has that begins with two given ones, of scripts without spaces.
class Beginnings {
  public:
    Beginnings() = default;
    explicit Beginnings(const Index& words);
    // The length to look for at the begin of a run of `length` characters: 1 where no longer word begins so.
    int64_t longest(const Code* run, int64_t length) const;

  private:
    std::vector<uint64_t> slots_;  // 0 is empty, else the two characters over the length
    int64_t slot_of(uint64_t key) const;
};

// How many words of a batch there were, and how many of them were found whole. Short words do not count, which many
// languages share, nor do codes, names of variables and abbreviations: unknown tokens with anything but letters, or with an
// upper-case letter after the first.
struct KnownWords {
    int64_t words = 0, known = 0;

    void count(const Token& token, bool is_known);
};

class Vocabulary {
  public:
    Index words;
    Index pieces;     // no words where unknown words are not taken apart
    bool composed;    // whether the pieces are words of their own, found as they stand, and no parts of others
    int letter_case;  // CASE_EXACT_THEN_LOWER, … of kernel_constants.hpp
    int32_t unknown;  // what a word that is not here becomes
    Splitting how;    // how a text is split for these words
    Beginnings beginnings;

    // Memory that a thread uses again and again.
    struct Scratch {
        std::string utf8;
        std::vector<Code> plain;
        std::vector<size_t> ends;
        KnownWords seen;
    };

    // Appends the row of the token, or the rows of its pieces, or `unknown`.
    void look_up(const Token& token, Scratch* scratch, std::vector<int32_t>* ids) const;
    // The row of a token in the cases and spellings that this vocabulary tries, or -1.
    int32_t find(const Token& token, std::string* utf8) const;
    int64_t longest_from(const Code* run, int64_t length) const { return beginnings.longest(run, length); }

  private:
    int32_t find_composed(const Token& token, std::string* utf8) const;
    int32_t find_spelled(const Token& token, std::string* utf8) const;
    bool look_up_parts(const Token& token, Scratch* scratch, std::vector<int32_t>* ids) const;
    bool look_up_pieces(const Token& part, Scratch* scratch, std::vector<int32_t>* ids) const;
};

}  // namespace noppa
