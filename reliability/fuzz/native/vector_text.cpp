// Blocks of any bytes with any dimension, as lines of text and as binary records: every row is finite and lies where its
// bounds say, the same for one thread and for three, and what is written reads back as the same numbers.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <fuzzer/FuzzedDataProvider.h>

#include "kernel_constants.hpp"
#include "vector_text.hpp"

using namespace noppa;

namespace {

int64_t checked(const VectorRows& rows, int64_t dim, size_t length) {
    const int64_t count = int64_t(rows.bounds.size()) - 1;
    if (rows.bounds[0] != 0 || rows.bounds.back() != int64_t(rows.text.size())) std::abort();
    for (int64_t row = 0; row < count; ++row)
        if (rows.bounds[size_t(row)] > rows.bounds[size_t(row) + 1]) std::abort();
    for (int64_t at = 0; at < count * dim; ++at)
        if (!(std::fabs(rows.matrix[size_t(at)]) <= float(LARGEST_VALUE))) std::abort();
    for (const int64_t at : rows.bad_starts)
        if (at < 0 || at >= int64_t(length)) std::abort();
    for (const int64_t row : rows.invalid_utf8)
        if (row < 0 || row >= count) std::abort();
    if (rows.invalid_utf8.size() != rows.invalid_utf8_starts.size() || rows.consumed < 0 ||
        rows.consumed > int64_t(length))
        std::abort();
    return count;
}

void round_trip(const VectorRows& rows, int64_t count, int64_t dim) {
    std::string block;
    for (const std::string& line : format_rows(rows.matrix.get(), count, dim, " ", 1)) block += "w " + line + "\n";
    const VectorRows again = parse_vectors(block.data(), block.size(), dim, 1);
    if (checked(again, dim, block.size()) != count) std::abort();
    if (std::memcmp(rows.matrix.get(), again.matrix.get(), size_t(count * dim) * sizeof(float))) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    FuzzedDataProvider input(data, size);
    const bool records = input.ConsumeBool();
    const int64_t dim = input.ConsumeBool() ? input.ConsumeIntegralInRange<int64_t>(1, 9)
                                            : input.ConsumeIntegralInRange<int64_t>(1, INT64_MAX);
    const int64_t most = input.ConsumeIntegralInRange<int64_t>(0, INT64_MAX);
    const size_t length = input.remaining_bytes();
    std::unique_ptr<char[]> block(new char[length]);
    input.ConsumeData(block.get(), length);
    if (records) {
        checked(parse_records(block.get(), length, dim, most), dim, length);
        return 0;
    }
    const VectorRows one = parse_vectors(block.get(), length, dim, 1);
    const VectorRows three = parse_vectors(block.get(), length, dim, 3);
    const int64_t count = checked(one, dim, length);
    if (checked(three, dim, length) != count || one.text != three.text || one.bad_starts != three.bad_starts)
        std::abort();
    if (dim < 100) round_trip(one, count, dim);
    return 0;
}
