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

enum Case : int { EXACT_THEN_LOWER = 0, EXACT = 1, LOWER = 2 };

struct Vocabulary {
    const uint8_t* text;
    const int64_t* bounds;
    int64_t words;
    const uint64_t* slots;
    uint64_t mask;  // slots - 1, slots being a power of two
    int letter_case;
    int32_t unknown;  // what a word that is not here becomes

    int32_t find(const uint8_t* bytes, size_t length) const;
    int32_t look_up(const Token& token, std::string* utf8) const;
};

}  // namespace noppa
