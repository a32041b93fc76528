// fastText's character n-grams: its dictionary, the buckets that a word's n-grams fall into, and means of rows.
#pragma once

#include <cstdint>
#include <vector>

namespace noppa {

// Words with their counts; `end` is the byte after the last one, -1 where they do not fit the file.
struct DictionaryEntries {
    std::vector<uint8_t> text;
    std::vector<int64_t> bounds, counts;
    int64_t end = -1;
};

// `count` entries from byte `start` on: the word, a zero byte, an int64 count and the byte of its type.
DictionaryEntries parse_entries(const uint8_t* data, int64_t size, int64_t start, int64_t count);

struct NgramBuckets {
    std::vector<int32_t> buckets;
    std::vector<int64_t> offsets;  // (words + 1,)
};

// The buckets of the n-grams of each word text[bounds[i], bounds[i + 1]) between its marks, in fastText's order.
NgramBuckets ngram_buckets(const uint8_t* text, const int64_t* bounds, int64_t words, int64_t shortest, int64_t longest,
                           uint32_t buckets);

// The mean of the rows ids[offsets[i]] … of each word, zeros where it has none; rows of `dim` floats, not aligned.
void mean_rows(const uint8_t* matrix, int64_t dim, const int32_t* ids, const int64_t* offsets, int64_t words,
               float* out, int threads);

}  // namespace noppa
