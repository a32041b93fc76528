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

// What a level of 1 is worth in a block of a row.
inline float unit_of(const Table& table, int32_t id, int64_t block) {
    const int64_t at = int64_t(id) * table.block_count + block;
    return table.unit * (table.half_scales ? float_of_half(static_cast<const uint16_t*>(table.scales)[at])
                                           : static_cast<const float*>(table.scales)[at]);
}

// Up to BLOCK columns of every row, from one of a block on.
template <class Decoder>
class Chunk {
  public:
    // `row_bytes` and the bytes from one row to the next are those of the table; `first` is where the columns begin.
    Chunk(const Table& table, int64_t first, int64_t columns)
        : rows_(static_cast<const uint8_t*>(table.rows) + first),
          apart_(table.row_apart),
          bytes_(Decoder::bytes_of(columns)),
          last_whole_(table.words - 1) {
        // Rows at the end of the table, behind which there is nothing to read.
        const int64_t missing = Decoder::BYTES - (table.row_bytes - first);
        if (missing > 0) last_whole_ = apart_ > 0 ? last_whole_ - (missing + apart_ - 1) / apart_ : -1;
    }

    // Columns past the chunk's own are anything.
    void read(int32_t id, float unit, vf (&values)[2]) const {
        const uint8_t* at = rows_ + int64_t(id) * apart_;
        if (__builtin_expect(id <= last_whole_, 1)) return Decoder::decode(at, unit, values);
        const Values last = read_end(at, bytes_, unit);
        values[0] = last.vectors[0];
        values[1] = last.vectors[1];
    }

  private:
    struct Values {
        vf vectors[2];
    };
    // Apart, and its result no reference, so that the loops around `read` keep their registers.
    __attribute__((noinline, cold)) static Values read_end(const uint8_t* at, int64_t bytes, float unit) {
        uint8_t some[Decoder::BYTES] = {};
        __builtin_memcpy(some, at, size_t(bytes));
        Values values;
        Decoder::decode(some, unit, values.vectors);
        return values;
    }

    const uint8_t* rows_;
    int64_t apart_, bytes_, last_whole_;
};

template <class Decoder, class Use>
inline void each_chunk(const Table& table, const Block& block, const int32_t* ids, const float* units, Use& use) {
    const int64_t columns = block.stop - block.start, words = table.words;
    for (int64_t m = 0; m < columns; m += BLOCK) {
        const int64_t count = columns - m < BLOCK ? columns - m : BLOCK;
        const Chunk<Decoder> chunk(table, block.first + Decoder::bytes_of(m), count);
        use(block.start + m, count, [=](int64_t t, vf(&values)[2]) {
            if (ids[t] < words) return chunk.read(ids[t], units[t], values);
            values[0] = values[1] = vf{};
        });
    }
}

// All columns of the rows of some words, up to BLOCK columns at a time and in order: use(column, count, read) gets `count`
// columns from `column` on, where read(t, values) gives two vectors of the t-th word. What lies past the columns is
// anything. `units` is scratch (tokens,).
template <class Use>
inline void read_columns(const Table& table, const int32_t* ids, int64_t tokens, float* units, Use use) {
    const Block all{0, table.dim, 0, 0};
    if (table.storage == FLOAT32) return each_chunk<Floats>(table, all, ids, units, use);
    if (table.storage == FLOAT16) return each_chunk<Halves>(table, all, ids, units, use);
    for (int64_t b = 0; b < table.block_count; ++b) {
        for (int64_t t = 0; t < tokens; ++t) units[t] = ids[t] < table.words ? unit_of(table, ids[t], b) : 0.0f;
        if (table.blocks[b].bits == 4) each_chunk<FourBits>(table, table.blocks[b], ids, units, use);
        else each_chunk<EightBits>(table, table.blocks[b], ids, units, use);
    }
}

inline void read_row(const Table& table, int32_t id, float* row) {
    float unit = 0;
    read_columns(table, &id, 1, &unit, [row](int64_t column, int64_t count, auto read) {
        vf values[2];
        read(0, values);
        store(row + column, values[0], count);
        if (count > WIDTH) store(row + column + WIDTH, values[1], count - WIDTH);
    });
}

}  // namespace
