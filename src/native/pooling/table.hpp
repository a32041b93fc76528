// Word vectors as they are stored.
#pragma once

#include <cstdint>

namespace noppa {

enum Storage : int { FLOAT32 = 0, FLOAT16 = 1, QUANTIZED = 2 };

// Columns [start, stop) of quantized rows: 8 bits each, or 4 as numbers of FOUR_BIT_LEVELS, from byte `first` of a row on.
struct Block {
    int64_t start, stop, first;
    int64_t bits;
};

// Matrix (words, dim), its rows of `row_bytes` bytes `row_apart` bytes from each other. In quantized ones a value is its level
// times `unit` times the scale of its row and block, of scales (words, block_count).
struct Table {
    const void* rows;
    int storage;
    int64_t words, dim, row_bytes, row_apart;
    const Block* blocks;
    int64_t block_count;
    const void* scales;
    bool half_scales;  // float16, else float32
    float unit;
};

}  // namespace noppa
