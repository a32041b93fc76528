#include "character_ngrams.hpp"

#include <cstring>

#include "kernel_constants.hpp"
#include "workers.hpp"

namespace noppa {
namespace {

constexpr int64_t AFTER_WORD = 1 + 8 + 1;  // the zero byte, the count, the type
constexpr double ADD_COST = 0.5;           // nanoseconds a float

bool continues(uint8_t byte) { return (byte & 0xC0) == 0x80; }

// FNV-1a as fastText has it, which takes each byte for a signed one: those above 127 flip the upper bits too.
uint32_t with_byte(uint32_t hash, uint8_t byte) { return (hash ^ uint32_t(int8_t(byte))) * NGRAM_PRIME; }

void append_buckets(const std::vector<uint8_t>& word, int64_t shortest, int64_t longest, uint32_t buckets,
                    std::vector<int32_t>* out) {
    const int64_t size = int64_t(word.size());
    for (int64_t start = 0; start < size; ++start) {
        if (continues(word[size_t(start)])) continue;
        uint32_t hash = NGRAM_SEED;
        int64_t end = start;
        for (int64_t length = 1; end < size && length <= longest; ++length) {
            hash = with_byte(hash, word[size_t(end++)]);
            while (end < size && continues(word[size_t(end)])) hash = with_byte(hash, word[size_t(end++)]);
            const bool is_mark = length == 1 && (start == 0 || end == size);
            if (length >= shortest && !is_mark) out->push_back(int32_t(hash % buckets));
        }
    }
}

}  // namespace

DictionaryEntries parse_entries(const uint8_t* data, int64_t size, int64_t start, int64_t count) {
    DictionaryEntries entries;
    if (start < 0 || start > size || count < 0 || count > (size - start) / AFTER_WORD) return entries;
    entries.bounds.reserve(size_t(count) + 1);
    entries.counts.reserve(size_t(count));
    entries.bounds.push_back(0);
    for (int64_t entry = 0; entry < count; ++entry) {
        const void* zero = std::memchr(data + start, 0, size_t(size - start));
        if (!zero) return entries;
        const int64_t length = static_cast<const uint8_t*>(zero) - (data + start);
        if (length > LONGEST_NGRAM_WORD || size - start - length < AFTER_WORD) return entries;
        entries.text.insert(entries.text.end(), data + start, data + start + length);
        entries.bounds.push_back(int64_t(entries.text.size()));
        int64_t times;
        std::memcpy(&times, data + start + length + 1, sizeof times);
        entries.counts.push_back(times);
        start += length + AFTER_WORD;
    }
    entries.end = start;
    return entries;
}

NgramBuckets ngram_buckets(const uint8_t* text, const int64_t* bounds, int64_t words, int64_t shortest, int64_t longest,
                           uint32_t buckets) {
    NgramBuckets found;
    found.offsets.push_back(0);
    std::vector<uint8_t> marked;
    for (int64_t at = 0; at < words; ++at) {
        marked.assign(1, '<');
        marked.insert(marked.end(), text + bounds[at], text + bounds[at + 1]);
        marked.push_back('>');
        if (int64_t(marked.size()) <= LONGEST_NGRAM_WORD + 2)
            append_buckets(marked, shortest, longest, buckets, &found.buckets);
        found.offsets.push_back(int64_t(found.buckets.size()));
    }
    return found;
}

void mean_rows(const uint8_t* matrix, int64_t dim, const int32_t* ids, const int64_t* offsets, int64_t words,
               float* out, int threads) {
    const auto cost = [&](int64_t at) { return ADD_COST * double(offsets[at + 1] - offsets[at] + 1) * double(dim); };
    const std::vector<int64_t> cuts = cut_by_cost(words, threads, INT64_MAX, cost);
    run_tasks(int64_t(cuts.size()) - 1, threads, [&](int64_t task) {
        std::vector<float> row(static_cast<size_t>(dim));
        for (int64_t word = cuts[size_t(task)]; word < cuts[size_t(task) + 1]; ++word) {
            float* sum = out + word * dim;
            for (int64_t m = 0; m < dim; ++m) sum[m] = 0;
            for (int64_t at = offsets[word]; at < offsets[word + 1]; ++at) {
                std::memcpy(row.data(), matrix + int64_t(ids[at]) * dim * 4, size_t(dim) * 4);
                for (int64_t m = 0; m < dim; ++m) sum[m] += row[size_t(m)];
            }
            const int64_t count = offsets[word + 1] - offsets[word];
            const float share = count ? 1.0f / float(count) : 0.0f;
            for (int64_t m = 0; m < dim; ++m) sum[m] *= share;
        }
    });
}

}  // namespace noppa
