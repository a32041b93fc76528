// NoPPA's parts of the words themselves, without pairs or positions: their maximum, minimum, deviation and cosines.
#pragma once

#include "kernel_constants.hpp"
#include "pooling/rows.hpp"
#include "pooling/sums.hpp"
#include "sizes.hpp"

namespace {

struct WordPartScratch {
    float *vector, *first;
    double *sum, *squares;
};

inline WordPartScratch lay_out_word_part(const Table& table, Memory& memory) {
    return {memory.take<float>(table.dim), memory.take<float>(table.dim), memory.take<double>(table.dim),
            memory.take<double>(table.dim)};
}

// One part (dim,) of at least one word. `shares` are weights over the number of words.
inline void write_word_part(const Table& table, int64_t part, const int32_t* ids, const float* shares, int64_t tokens,
                            const WordPartScratch& s, float* row) {
    const double length = double(tokens);
    clear(s.sum, table.dim);
    clear(s.squares, table.dim);
    read_row(table, ids[0], s.first);
    for (int64_t m = 0; m < table.dim; ++m) row[m] = s.first[m];
    for (int64_t t = 0; t < tokens; ++t) {
        const float* vector = s.vector;
        read_row(table, ids[t], s.vector);
        if (part == noppa::PART_MAX) {
            for (int64_t m = 0; m < table.dim; ++m) row[m] = vector[m] > row[m] ? vector[m] : row[m];
        } else if (part == noppa::PART_MIN) {
            for (int64_t m = 0; m < table.dim; ++m) row[m] = vector[m] < row[m] ? vector[m] : row[m];
        } else if (part == noppa::PART_STD) {
            for (int64_t m = 0; m < table.dim; ++m) {
                const double d = double(vector[m]) - double(s.first[m]);
                s.sum[m] += d;
                s.squares[m] += d * d;
            }
        } else {
            const double wave = __builtin_cos(PI * double((2 * t + 1) * (part - noppa::COSINES)) / (2 * length));
            for (int64_t m = 0; m < table.dim; ++m) s.sum[m] += double(shares[t]) * wave * double(vector[m]);
        }
    }
    if (part == noppa::PART_STD)
        for (int64_t m = 0; m < table.dim; ++m) {
            const double variance = (s.squares[m] - s.sum[m] * s.sum[m] / length) / length;
            row[m] = variance > 0 ? float(__builtin_sqrt(variance)) : 0.0f;
        }
    if (part > noppa::COSINES)
        for (int64_t m = 0; m < table.dim; ++m) row[m] = float(s.sum[m]);
}

}  // namespace
