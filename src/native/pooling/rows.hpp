// Rows of the word table as float32, for the files that are compiled once per instruction set: one row as a whole, or the
// rows of a sentence a few columns at a time.
#pragma once

#include "pooling/decoders.hpp"
#include "pooling/table.hpp"

namespace {

using noppa::Block;
using noppa::FLOAT16;
using noppa::FLOAT32;
using noppa::QUANTIZED;
using noppa::Table;

// Up to BLOCK columns of every row, from one of a block on.
template <class Decoder>
class Chunk {
  public:
    // `row_bytes` and the bytes from one row to the next are those of the table; `first` is where the columns begin.
    Chunk(const Table& table, int64_t first, int64_t columns)
        : rows_(static_cast<const uint8_t*>(table.rows) + first),
          apart_(table.row_apart),
          bytes_(Decoder::bytes_of(columns)),
          words_(table.words),
          last_whole_(table.words - 1) {
        // Rows at the end of the table, behind which there is nothing to read.
        const int64_t missing = Decoder::BYTES - (table.row_bytes - first);
        if (missing > 0) last_whole_ = apart_ > 0 ? last_whole_ - (missing + apart_ - 1) / apart_ : -1;
    }

    // The levels of a word, in the decoder's order; those past the chunk's own columns are anything.
    void levels(int32_t id, vf (&values)[2]) const {
        const uint8_t* at = rows_ + int64_t(id) * apart_;
        if (__builtin_expect(id <= last_whole_, 1)) return Decoder::levels(at, values);
        const Values last = read_end(at, id < words_ ? bytes_ : 0);
        values[0] = last.vectors[0];
        values[1] = last.vectors[1];
    }
    static void order(vf (&values)[2]) { Decoder::order(values); }

  private:
    struct Values {
        vf vectors[2];
    };
    // Zeros for the zero word, which has no bytes. Apart, and its result no reference, so that the loops around `levels`
    // keep their registers.
    __attribute__((noinline, cold)) static Values read_end(const uint8_t* at, int64_t bytes) {
        Values values = {};
        if (!bytes) return values;
        uint8_t some[Decoder::BYTES] = {};
        __builtin_memcpy(some, at, size_t(bytes));
        Decoder::levels(some, values.vectors);
        return values;
    }

    const uint8_t* rows_;
    int64_t apart_, bytes_, words_, last_whole_;
};

template <class Decoder, class Use>
inline void each_chunk(const Table& table, const Block& block, int64_t number, Use& use) {
    const int64_t columns = block.stop - block.start;
    for (int64_t m = 0; m < columns; m += BLOCK) {
        const int64_t count = columns - m < BLOCK ? columns - m : BLOCK;
        use(block.start + m, count, number, Chunk<Decoder>(table, block.first + Decoder::bytes_of(m), count));
    }
}

// All columns in order, up to BLOCK of them at a time: use(column, count, block, chunk) gets `count` columns from `column`
// on, which belong to one block and have one unit a word.
template <class Use>
inline void each_chunk(const Table& table, Use use) {
    const Block all{0, table.dim, 0, 0};
    if (table.storage == FLOAT32) return each_chunk<Floats>(table, all, 0, use);
    if (table.storage == FLOAT16) return each_chunk<Halves>(table, all, 0, use);
    for (int64_t b = 0; b < table.block_count; ++b)
        if (table.blocks[b].bits == 4) each_chunk<FourBits>(table, table.blocks[b], b, use);
        else each_chunk<EightBits>(table, table.blocks[b], b, use);
}

// Two vectors to the columns of a chunk, and nothing behind them.
inline void store(float* at, const vf (&values)[2], int64_t count) {
    store(at, values[0], count);
    if (count > WIDTH) store(at + WIDTH, values[1], count - WIDTH);
}

inline int64_t units_of(const Table& table) { return table.storage == QUANTIZED ? table.block_count : 1; }

// What a level of 1 is worth in each block of some words, times their weights where there are any: units (tokens, units_of).
inline void read_units(const Table& table, const int32_t* ids, const float* weights, int64_t tokens, float* units) {
    if (table.storage != QUANTIZED) {
        for (int64_t t = 0; t < tokens; ++t) units[t] = weights ? weights[t] : 1.0f;
        return;
    }
    Table scales = table;
    scales.rows = table.scales;
    scales.storage = table.half_scales ? FLOAT16 : FLOAT32;
    scales.dim = table.block_count;
    scales.row_bytes = scales.row_apart = table.block_count * (table.half_scales ? 2 : 4);
    each_chunk(scales, [&](int64_t column, int64_t count, int64_t, const auto& chunk) {
        for (int64_t t = 0; t < tokens; ++t) {
            const vf factor = all(weights ? weights[t] * table.unit : table.unit);
            vf values[2];
            chunk.levels(ids[t], values);
            for (int v = 0; v < 2; ++v) values[v] *= factor;
            store(units + t * scales.dim + column, values, count);
        }
    });
}

inline float float_of_half(uint32_t half) {
    union {
        uint32_t bits;
        float value;
    } number;
    number.bits = (half & 0x7fffu) << 13;
    number.value *= HALF_UNIT;
    number.bits |= (half & 0x8000u) << 16;
    return number.value;
}

// One of `read_units`; the zero word needs none.
inline float unit_of(const Table& table, int32_t id, int64_t block) {
    if (table.storage != QUANTIZED || id >= table.words) return 1.0f;
    const int64_t at = int64_t(id) * table.block_count + block;
    return table.unit * (table.half_scales ? float_of_half(static_cast<const uint16_t*>(table.scales)[at])
                                           : static_cast<const float*>(table.scales)[at]);
}

inline void read_row(const Table& table, int32_t id, float* row) {
    each_chunk(table, [&](int64_t column, int64_t count, int64_t block, const auto& chunk) {
        const float unit = unit_of(table, id, block);
        vf values[2];
        chunk.levels(id, values);
        chunk.order(values);
        for (int v = 0; v < 2; ++v) values[v] *= unit;
        store(row + column, values, count);
    });
}

}  // namespace
