// Rows of the word table as float32, for the files that are compiled once per instruction set.
#pragma once

#include "pooling/table.hpp"

namespace {

using noppa::FLOAT16;
using noppa::FLOAT32;
using noppa::INT8;
using noppa::Table;

inline void read_row(const Table& table, int32_t id, float* row) {
    const int64_t dim = table.dim;
    if (id >= table.words) {
        for (int64_t m = 0; m < dim; ++m) row[m] = 0;
    } else if (table.storage == FLOAT32) {
        const float* from = static_cast<const float*>(table.rows) + int64_t(id) * table.stride;
        for (int64_t m = 0; m < dim; ++m) row[m] = from[m];
    } else if (table.storage == INT8) {
        const int8_t* from = static_cast<const int8_t*>(table.rows) + int64_t(id) * table.stride;
        for (int64_t b = 0; b < table.blocks; ++b) {
            const float scale = table.scales[int64_t(id) * table.blocks + b];
            for (int64_t m = table.edges[b]; m < table.edges[b + 1]; ++m) row[m] = scale * float(from[m]);
        }
    } else {
        // A half's bits, shifted into a float's place, are the value times 2^-112, subnormals included.
        const uint16_t* from = static_cast<const uint16_t*>(table.rows) + int64_t(id) * table.stride;
        for (int64_t m = 0; m < dim; ++m) {
            const uint32_t half = from[m];
            union {
                uint32_t bits;
                float value;
            } number;
            number.bits = (half & 0x7fffu) << 13;
            number.value *= 5.192296858534828e+33f;
            number.bits |= (half & 0x8000u) << 16;
            row[m] = number.value;
        }
    }
}

}  // namespace
