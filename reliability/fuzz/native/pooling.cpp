// Every method, storage and instruction set on small tables of any finite values: rows are finite, and a sentence gets the
// same bytes alone and in a batch over threads.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <fuzzer/FuzzedDataProvider.h>

#include "batch.hpp"
#include "vector_text.hpp"

using namespace noppa;

namespace {

// Arrays of exactly their size, so that AddressSanitizer sees one step too far.
template <class T>
struct Exact {
    explicit Exact(int64_t count) : values(new T[size_t(count)]), count(count) {}
    template <class Make>
    Exact(int64_t count, Make make) : Exact(count) {
        for (int64_t at = 0; at < count; ++at) values[size_t(at)] = T(make());
    }
    std::unique_ptr<T[]> values;
    int64_t count;
};

// One byte a number: zeros, the largest and the smallest that a table may hold, and some between.
double number(FuzzedDataProvider& input, double largest) {
    const int byte = input.ConsumeIntegralInRange(0, 255);
    switch (byte) {
        case 0: return 0.0;
        case 1: return -0.0;
        case 2: return largest;
        case 3: return -largest;
        case 4: return 1e-30;
        case 5: return -1e-42;
        default: return double(byte - 128) / 64 * (largest < 2 ? largest / 2 : 1.0);
    }
}

struct Words {
    int64_t words, dim;
    Exact<float> floats;
    Exact<uint16_t> halves;
    Exact<int8_t> bytes;
    Exact<float> scales;
    Exact<int64_t> edges;
    Table table;

    Words(FuzzedDataProvider& input, double largest)
        : words(input.ConsumeIntegralInRange(1, 6)),
          dim(input.ConsumeIntegralInRange(1, 70)),
          floats(words * dim, [&] { return number(input, largest); }),
          halves(words * dim, [&] { return input.ConsumeIntegral<uint16_t>() & 0xfbff; }),  // never infinite
          bytes(words * dim, [&] { return input.ConsumeIntegral<int8_t>(); }),
          scales(words * 2, [&] { return std::fabs(number(input, largest / 127)); }),
          edges(3) {
        edges.values[0] = 0;
        edges.values[1] = input.ConsumeIntegralInRange<int64_t>(0, dim);
        edges.values[2] = dim;
        const int storage = input.ConsumeIntegralInRange(0, 2);
        const void* rows[] = {floats.values.get(), halves.values.get(), bytes.values.get()};
        table = {rows[storage], scales.values.get(), edges.values.get(), storage, words, dim, dim, 2};
    }
};

struct Sentences {
    std::vector<int32_t> ids;
    std::vector<int64_t> offsets{0};
    int64_t longest = 0;

    Sentences(FuzzedDataProvider& input, int64_t words) {
        for (int left = input.ConsumeIntegralInRange(0, 5); left > 0; --left) {
            const int64_t tokens = input.ConsumeIntegralInRange(0, 12);
            for (int64_t t = 0; t < tokens; ++t) ids.push_back(input.ConsumeIntegralInRange<int32_t>(DROPPED, int32_t(words)));
            offsets.push_back(int64_t(ids.size()));
            longest = std::max(longest, tokens);
        }
    }
};

// Rows of the batch against the rows of its sentences alone, for each instruction set.
template <class Pool>
void compare(const Sentences& sentences, int64_t width, Pool pool) {
    const int64_t count = int64_t(sentences.offsets.size()) - 1;
    for (const char* set : instruction_sets()) {
        use_instruction_set(set);
        Exact<float> rows(count * width), row(width);
        Exact<int32_t> known(count), one(1);
        pool(Batch{sentences.ids.data(), sentences.offsets.data(), count}, 3, rows.values.get(), known.values.get());
        for (int64_t s = 0; s < count; ++s) {
            const int64_t begin = sentences.offsets[size_t(s)];
            const int64_t bounds[] = {0, sentences.offsets[size_t(s) + 1] - begin};
            pool(Batch{sentences.ids.data() + begin, bounds, 1}, 1, row.values.get(), one.values.get());
            const float* there = rows.values.get() + s * width;
            if (one.values[0] != known.values[size_t(s)]) std::abort();
            if (std::memcmp(there, row.values.get(), size_t(width) * sizeof(float))) std::abort();
            for (int64_t m = 0; m < width; ++m)
                if (!std::isfinite(there[m])) std::abort();
        }
    }
}

void noppa_rows(FuzzedDataProvider& input, const Words& words, const Sentences& sentences, const float* weights) {
    const int64_t wide = (words.dim + POSITION_UNIT - 1) / POSITION_UNIT * POSITION_UNIT;
    Exact<int32_t> parts(input.ConsumeIntegralInRange(1, 4), [&] {
        const int32_t part = input.ConsumeIntegralInRange<int32_t>(CONTEXT, COSINE + 3);
        return part == COSINE ? COSINE + 1 : part;
    });
    bool context = false, word = false;
    for (int64_t at = 0; at < parts.count; ++at) {
        const int32_t part = parts.values[size_t(at)];
        context |= part == CONTEXT || part == ORDERED || part == PRODUCT;
        word |= part == WORD;
    }
    Exact<float> positions(sentences.longest * wide);
    for (int64_t at = 0; at < positions.count; ++at)
        positions.values[size_t(at)] = at % wide < words.dim ? float(number(input, 1)) : 0.0f;
    const Noppa noppa{weights, input.ConsumeBool() ? positions.values.get() : nullptr,
                      input.ConsumeIntegralInRange<int>(LOG2, SQUARE), input.ConsumeBool(), input.ConsumeBool(),
                      context, word, parts.values.get(), parts.count, parts.count * words.dim};
    compare(sentences, noppa.width, [&](const Batch& batch, int threads, float* rows, int32_t* known) {
        pool_noppa(words.table, noppa, batch, {}, threads, rows, known);
    });
}

void other_rows(FuzzedDataProvider& input, int kind, const Words& words, const Sentences& sentences, const float* weights) {
    Pooling pooling{};
    pooling.kind = Pooling::Kind(kind);
    pooling.divisor = Pooling::Divisor(input.ConsumeIntegralInRange(0, 2));
    pooling.scaled = input.ConsumeBool();
    pooling.average = input.ConsumeBool();
    pooling.published = input.ConsumeBool();
    pooling.power = float(input.ConsumeIntegralInRange(0, 4)) / 2;
    pooling.weights = weights;
    pooling.slots = kind == Pooling::MEAN ? 1 : input.ConsumeIntegralInRange(1, 7);
    pooling.window = input.ConsumeBool() ? input.ConsumeIntegralInRange<int64_t>(1, 9) : INT32_MAX;
    pooling.removed = input.ConsumeIntegralInRange<int64_t>(1, pooling.slots);
    const int64_t slots = pooling.slots, cells = slots * (slots + 1) / 2;
    const int64_t widths[] = {words.dim, slots * words.dim, slots * words.dim,
                              (pooling.average ? words.dim : 0) + cells, words.dim};
    pooling.width = widths[kind];
    Exact<int32_t> labels(words.words + 1, [&] { return input.ConsumeIntegralInRange<int32_t>(0, int32_t(slots) - 1); });
    Exact<float> centroids(slots * words.dim, [&] { return number(input, 100); });
    Exact<double> directions(slots * words.dim, [&] { return number(input, 1); });
    Exact<double> values(slots, [&] { return std::fabs(number(input, 1e6)); });
    pooling.labels = labels.values.get();
    pooling.centroids = centroids.values.get();
    pooling.directions = directions.values.get();
    pooling.values = values.values.get();
    compare(sentences, pooling.width, [&](const Batch& batch, int threads, float* rows, int32_t* known) {
        pool_words(words.table, pooling, batch, {}, threads, rows, known);
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    FuzzedDataProvider input(data, size);
    const int kind = input.ConsumeIntegralInRange(0, 5);
    const bool weighted = input.ConsumeBool();
    const Words words(input, input.ConsumeBool() ? LARGEST_VALUE : 100);
    const Sentences sentences(input, words.words);
    Exact<float> weights(words.words + 1, [&] { return std::fabs(number(input, 1)); });
    const float* used = weighted ? weights.values.get() : nullptr;
    if (kind == 5) noppa_rows(input, words, sentences, used);
    else other_rows(input, kind, words, sentences, used);
    return 0;
}
