// Weighted sums of words, for the files that are compiled once per instruction set.
//
// Words are added in their order, so that a sentence gets the same bytes in any batch: up to SUMMED of them in float32, more
// than that in float64, SUMMED at a time. Columns are the outer loop, so that sums stay in registers, and units are applied
// to weights in place of levels.
#pragma once

#include "pooling/rows.hpp"
#include "sizes.hpp"

namespace {

constexpr int64_t SUMMED = 16;

struct SumScratch {
    float *units, *some;
    double* sums;
};

inline SumScratch lay_out_sum(const Table& table, int64_t tokens, Memory& memory) {
    const int64_t long_dim = tokens > SUMMED ? table.dim : 0;
    return {memory.take<float>(times(units_of(table), SUMMED)), memory.take<float>(long_dim),
            memory.take<double>(long_dim)};
}

// Up to SUMMED words: sums (dim,) of their rows times their weights.
inline void sum_some(const Table& table, const int32_t* ids, const float* weights, int64_t tokens, float* units,
                     float* sums) {
    const int64_t blocks = units_of(table);
    read_units(table, ids, weights, tokens, units);
    each_chunk(table, [=](int64_t column, int64_t count, int64_t block, const auto& chunk) {
        vf sum[2] = {};
        for (int64_t t = 0; t < tokens; ++t) {
            vf levels[2];
            chunk.levels(ids[t], levels);
            const vf unit = all(units[t * blocks + block]);
            for (int v = 0; v < 2; ++v) sum[v] += unit * levels[v];
        }
        chunk.order(sum);
        store(sums + column, sum, count);
    });
}

// The same of any number of words.
inline void sum_words(const Table& table, const int32_t* ids, const float* weights, int64_t tokens, const SumScratch& s,
                      float* row) {
    if (tokens <= SUMMED) return sum_some(table, ids, weights, tokens, s.units, row);
    for (int64_t m = 0; m < table.dim; ++m) s.sums[m] = 0;
    for (int64_t t = 0; t < tokens; t += SUMMED) {
        sum_some(table, ids + t, weights + t, tokens - t < SUMMED ? tokens - t : SUMMED, s.units, s.some);
        for (int64_t m = 0; m < table.dim; ++m) s.sums[m] += double(s.some[m]);
    }
    for (int64_t m = 0; m < table.dim; ++m) row[m] = float(s.sums[m]);
}

}  // namespace
