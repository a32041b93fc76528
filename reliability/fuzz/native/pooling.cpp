// Every method, storage and instruction set on small tables of any finite values: rows are finite, and a sentence gets the
// same bytes alone and in a batch over threads.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <fuzzer/FuzzedDataProvider.h>

#include "kernel_constants.hpp"
#include "pooling/batch.hpp"
#include "pooling/instruction_sets.hpp"

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
    Exact<uint8_t> bytes;
    Exact<float> scales;
    Exact<Block> blocks;
    Table table;

    Words(FuzzedDataProvider& input, double largest)
        : words(input.ConsumeIntegralInRange(1, 6)),
          dim(input.ConsumeIntegralInRange(1, 70)),
          floats(words * dim, [&] { return number(input, largest); }),
          halves(words * dim, [&] { return input.ConsumeIntegral<uint16_t>() & 0xfbff; }),  // never infinite
          bytes(0),
          scales(words * 2, [&] { return std::fabs(number(input, largest / 127)); }),
          blocks(2) {
        const int64_t middle = input.ConsumeIntegralInRange<int64_t>(0, dim);
        const int storage = input.ConsumeIntegralInRange(0, 2);
        int64_t row = 0;
        for (int64_t b = 0; b < 2; ++b) {
            const int64_t start = b ? middle : 0, stop = b ? dim : middle, bits = input.ConsumeBool() ? 4 : 8;
            blocks.values[size_t(b)] = {start, stop, row, bits};
            row += bits == 8 ? stop - start : (stop - start + 1) / 2;
        }
        const int64_t row_bytes = storage == QUANTIZED ? row : dim * (storage == FLOAT32 ? 4 : 2);
        bytes = Exact<uint8_t>(words * row, [&] { return input.ConsumeIntegral<uint8_t>(); });
        const void* rows[] = {floats.values.get(), halves.values.get(), bytes.values.get()};
        table = {rows[storage],       storage, words, dim, row_bytes, row_bytes, blocks.values.get(), 2,
                 scales.values.get(), false,   1.0f};
    }
};

struct Sentences {
    std::vector<int32_t> ids;
    std::vector<int64_t> offsets{0};
    int64_t longest = 0;

    Sentences(FuzzedDataProvider& input, int64_t words) {
        for (int left = input.ConsumeIntegralInRange(0, 5); left > 0; --left) {
            const int64_t tokens = input.ConsumeIntegralInRange(0, 12);
            for (int64_t t = 0; t < tokens; ++t)
                ids.push_back(input.ConsumeIntegralInRange<int32_t>(DROPPED, int32_t(words)));
            offsets.push_back(int64_t(ids.size()));
            longest = std::max(longest, tokens);
        }
    }
};

// An array that the arguments borrow, as NumPy's are.
template <class T>
Array borrowed(Array::Type type, const Exact<T>& values, int axes, int64_t rows) {
    const int64_t columns = axes == 1 ? 1 : values.count / rows;
    return {type, values.values.get(), axes, axes == 1 ? values.count : rows, columns, nullptr};
}

// Rows of the batch against the rows of its sentences alone, for each instruction set.
void compare(const Words& words, const Sentences& sentences, const std::string& name, Arguments arguments) {
    const Pooling pooling(name, words.table, std::move(arguments));
    const int64_t count = int64_t(sentences.offsets.size()) - 1, width = pooling.width;
    for (const char* set : instruction_sets()) {
        use_instruction_set(set);
        Exact<float> rows(count * width), row(width);
        Exact<int32_t> known(count), one(1);
        pool_batch(pooling, {sentences.ids.data(), sentences.offsets.data(), count}, {}, 3, rows.values.get(),
                   known.values.get());
        for (int64_t s = 0; s < count; ++s) {
            const int64_t begin = sentences.offsets[size_t(s)];
            const int64_t bounds[] = {0, sentences.offsets[size_t(s) + 1] - begin};
            pool_batch(pooling, {sentences.ids.data() + begin, bounds, 1}, {}, 1, row.values.get(), one.values.get());
            const float* there = rows.values.get() + s * width;
            if (one.values[0] != known.values[size_t(s)]) std::abort();
            if (std::memcmp(there, row.values.get(), size_t(width) * sizeof(float))) std::abort();
            for (int64_t m = 0; m < width; ++m)
                if (!std::isfinite(there[m])) std::abort();
        }
    }
}

void noppa_rows(FuzzedDataProvider& input, const Words& words, const Sentences& sentences, Arguments arguments) {
    int64_t compared = words.dim;
    arguments.set("pair_columns", std::monostate{});
    if (input.ConsumeBool()) {
        const int64_t start = input.ConsumeIntegralInRange<int64_t>(0, words.dim - 1);
        const int64_t stop = input.ConsumeIntegralInRange<int64_t>(start + 1, words.dim);
        arguments.set("pair_columns", std::vector<int64_t>{start, stop});
        compared = stop - start;
    }
    const int64_t wide = (compared + POSITION_UNIT - 1) / POSITION_UNIT * POSITION_UNIT;
    std::vector<int64_t> parts(input.ConsumeIntegralInRange<size_t>(1, 4));
    for (int64_t& part : parts) {
        part = input.ConsumeIntegralInRange<int64_t>(0, COSINES + 3);
        part += part == COSINES;  // of which there is none
    }
    Exact<float> positions(sentences.longest * wide);
    for (int64_t at = 0; at < positions.count; ++at)
        positions.values[size_t(at)] = at % wide < compared ? float(number(input, 1)) : 0.0f;
    arguments.set("parts", parts);
    if (input.ConsumeBool() && sentences.longest)
        arguments.set("positions", borrowed(Array::FLOAT32, positions, 2, sentences.longest));
    else arguments.set("positions", std::monostate{});
    arguments.set("kernel", input.ConsumeIntegralInRange<int64_t>(0, 2));
    arguments.set("attend_self", input.ConsumeBool());
    arguments.set("dropped_take_position", input.ConsumeBool());
    compare(words, sentences, "noppa", std::move(arguments));
}

void mean_rows(FuzzedDataProvider& input, const Words& words, const Sentences& sentences, Arguments arguments) {
    arguments.set("divisor", input.ConsumeIntegralInRange<int64_t>(0, 2));
    arguments.set("scaled", input.ConsumeBool());
    compare(words, sentences, "mean", std::move(arguments));
}

void clustered_rows(FuzzedDataProvider& input, const Words& words, const Sentences& sentences, bool weighted,
                    Arguments arguments) {
    const int64_t slots = input.ConsumeIntegralInRange(1, 7);
    Exact<int32_t> labels(words.words + 1,
                          [&] { return input.ConsumeIntegralInRange<int32_t>(0, int32_t(slots) - 1); });
    Exact<float> centroids(slots * words.dim, [&] { return number(input, 100); });
    arguments.set("labels", borrowed(Array::INT32, labels, 1, 0));
    arguments.set("centroids", borrowed(Array::FLOAT32, centroids, 2, slots));
    if (weighted) {
        arguments.set("average", input.ConsumeBool());
        arguments.set("published", input.ConsumeBool());
    } else {
        arguments.set("power", double(input.ConsumeIntegralInRange(0, 4)) / 2);
        arguments.set("unit", input.ConsumeBool());
    }
    compare(words, sentences, weighted ? "s3e" : "vlawe", std::move(arguments));
}

void gem_rows(FuzzedDataProvider& input, const Words& words, const Sentences& sentences) {
    const int64_t count = input.ConsumeIntegralInRange(1, 7);
    Exact<double> directions(count * words.dim, [&] { return number(input, 1); });
    Exact<double> values(count, [&] { return std::fabs(number(input, 1e6)); });
    Arguments arguments("gem");
    arguments.set("directions", borrowed(Array::FLOAT64, directions, 2, count));
    arguments.set("values", borrowed(Array::FLOAT64, values, 1, 0));
    arguments.set("window", input.ConsumeBool() ? input.ConsumeIntegralInRange<int64_t>(1, 9) : INT64_MAX);
    arguments.set("removed", input.ConsumeIntegralInRange<int64_t>(1, count));
    compare(words, sentences, "gem", std::move(arguments));
}

void dct_rows(FuzzedDataProvider& input, const Words& words, const Sentences& sentences) {
    Arguments arguments("dct");
    arguments.set("k", input.ConsumeIntegralInRange<int64_t>(1, 7));
    compare(words, sentences, "dct", std::move(arguments));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    FuzzedDataProvider input(data, size);
    const int kind = input.ConsumeIntegralInRange(0, 5);
    const bool weighted = input.ConsumeBool();
    const Words words(input, input.ConsumeBool() ? LARGEST_VALUE : 100);
    const Sentences sentences(input, words.words);
    const Exact<float> weights(words.words + 1, [&] { return std::fabs(number(input, 1)); });
    Arguments with_weights("with weights");
    if (weighted) with_weights.set("weights", borrowed(Array::FLOAT32, weights, 1, 0));
    else with_weights.set("weights", std::monostate{});
    switch (kind) {
        case 0: mean_rows(input, words, sentences, std::move(with_weights)); break;
        case 1: dct_rows(input, words, sentences); break;
        case 2: clustered_rows(input, words, sentences, false, Arguments("vlawe")); break;
        case 3: clustered_rows(input, words, sentences, true, std::move(with_weights)); break;
        case 4: gem_rows(input, words, sentences); break;
        default: noppa_rows(input, words, sentences, std::move(with_weights));
    }
    return 0;
}
