// NoPPA: equations 9 to 13 of the paper.
//
// The log kernel is symmetric and zero for a word with itself, so the contextual half of a sentence is one pass over
// its n(n-1)/2 pairs:
//     1/n sum_i w_i sum_j A_ij K(v'_i - v'_j)  =  sum_{i<j} c_ij K(v'_i - v'_j),   c_ij = (w_i A_ij + w_j A_ji) / n.
// Scores v'_i·v'_j are symmetric too. A tile of pairs is summed in float32, tiles in float64.
#include "methods/pair_work.hpp"
#include "methods/word_parts.hpp"
#include "pooling/arguments.hpp"
#include "pooling/method.hpp"
#include "pooling/positions.hpp"
#include "pooling/rows.hpp"
#include "pooling/simd.hpp"
#include "pooling/word_sums.hpp"
#include "sizes.hpp"

namespace noppa {
namespace {

// From so many tokens on their pairs are worth the threads that are woken.
constexpr int64_t SHARED = 4 * TILE;

struct Noppa final : Method {
    const float* weights;    // (words + 1,) or null
    const float* positions;  // (longest, padded pair_dim) or null
    bool attend_self;
    bool dropped_take_position;
    Vector<int64_t> parts;         // what a row consists of, in order
    int64_t pair_start, pair_dim;  // the columns in which words attend to each other and are compared
    SumPairs* sum_pairs;
    bool has_pairs = false, has_ordered = false, has_product = false;

    Noppa(const Table& table, const Arguments& arguments);
    double cost(double tokens) const override {
        return tokens * (double(table.dim) + double(pair_dim) * 0.15 * tokens);
    }
    size_t scratch_bytes(int64_t tokens) const override;
    int64_t pool(const int32_t* ids, int64_t tokens, void* scratch, float* row) const override;
    bool can_share(int64_t tokens) const override { return has_pairs && tokens >= SHARED; }
    int64_t pool_shared(const int32_t* ids, int64_t tokens, const Sharing& sharing, void* scratch,
                        float* row) const override;
};

Vector<int64_t> parts_of(const Arguments& arguments) {
    return arguments.integers("parts", PART_CONTEXT, COSINES + MOST_COSINES);
}

struct Columns {
    int64_t start, count;
};

Columns pair_columns_of(const Table& table, const Arguments& arguments) {
    if (arguments.is_none("pair_columns")) return {0, table.dim};
    const auto edges = arguments.integers("pair_columns", 0, table.dim);
    if (edges.size != 2 || edges.values[0] >= edges.values[1])
        arguments.refuse("pair_columns", "must be a first column and the one after the last");
    return {edges.values[0], edges.values[1] - edges.values[0]};
}

bool is_of_pairs(int64_t part) { return part == PART_CONTEXT || part == PART_ORDERED || part == PART_PRODUCT; }

int64_t width_of(const Table& table, const Arguments& arguments) {
    const auto parts = parts_of(arguments);
    int64_t pair_parts = 0;
    for (int64_t p = 0; p < parts.size; ++p) pair_parts += is_of_pairs(parts.values[p]);
    return times(pair_parts, pair_columns_of(table, arguments).count) + times(parts.size - pair_parts, table.dim);
}

Noppa::Noppa(const Table& table, const Arguments& arguments)
    : Method(table, width_of(table, arguments)),
      weights(weights_of(table, arguments)),
      positions(nullptr),
      attend_self(arguments.flag("attend_self")),
      dropped_take_position(arguments.flag("dropped_take_position")),
      parts(parts_of(arguments)),
      pair_start(pair_columns_of(table, arguments).start),
      pair_dim(pair_columns_of(table, arguments).count) {
    if (!arguments.is_none("positions")) {
        const auto matrix = arguments.float_matrix("positions", Arguments::ANY, padded(pair_dim));
        positions = matrix.values;
        longest = matrix.rows;
    }
    for (int64_t p = 0; p < parts.size; ++p) {
        const int64_t part = parts.values[p];
        if (part == COSINES) arguments.refuse("parts", "has a part that does not exist");
        has_ordered |= part == PART_ORDERED;
        has_product |= part == PART_PRODUCT;
        has_pairs |= is_of_pairs(part);
    }
    const int64_t kernel = arguments.integer("kernel", PAIR_KERNEL_LOG2, PAIR_KERNEL_SQUARE);
    sum_pairs = sum_by(kernel, has_ordered, has_product);
}

// Scratch of one sentence. `shares` are weights over the number of words.
struct Sentence {
    int32_t *ids, *places;
    float *shares, *zeros;
    SumScratch word_sum;
    WordPartScratch word_part;
    PairWork pairs;
    Attention& words() { return pairs.words; }
};

Sentence lay_out(const Noppa& noppa, int64_t tokens, Memory& memory) {
    Sentence s;
    s.ids = memory.take<int32_t>(tokens);
    s.places = memory.take<int32_t>(tokens);
    s.shares = memory.take<float>(tokens);
    s.zeros = memory.take<float>(noppa.positions ? 0 : padded(noppa.pair_dim));
    s.word_sum = lay_out_sum(noppa.table, tokens, memory);
    s.word_part = lay_out_word_part(noppa.table, memory);
    s.pairs = lay_out_pairs(tokens, noppa.pair_dim, noppa.has_pairs, memory);
    s.pairs.attend_self = noppa.attend_self;
    s.pairs.sum_pairs = noppa.sum_pairs;
    return s;
}

size_t Noppa::scratch_bytes(int64_t tokens) const {
    Memory memory{0};
    lay_out(*this, tokens, memory);
    return memory.room();
}

// The known words of a sentence: their ids, places and weights.
void list_known(const Noppa& noppa, const int32_t* ids, int64_t tokens, Sentence& s) {
    int32_t place = 0;
    int64_t known = 0;
    for (int64_t t = 0; t < tokens; ++t) {
        if (ids[t] == DROPPED) {
            place += noppa.dropped_take_position;
            continue;
        }
        s.ids[known] = ids[t];
        s.places[known] = place++;
        s.words().weights[known++] = noppa.weights ? noppa.weights[ids[t]] : 1.0f;
    }
    s.words().tokens = known;
    for (int64_t t = 0; t < known; ++t) s.shares[t] = float(double(s.words().weights[t]) / double(known));
}

// Equation 10 for up to SUMMED words from `first` on: their compared columns with positions, and zeros up to whole vectors.
void read_some(const Noppa& noppa, Sentence& s, int64_t first, int64_t tokens) {
    const int64_t dim = s.words().dim, wide = padded(dim), stride = s.words().stride, blocks = units_of(noppa.table);
    const int32_t *ids = s.ids + first, *places = s.places + first;
    float *vectors = s.words().vectors + first * stride, *units = s.word_sum.units;
    const auto position_of = [&](int64_t t) { return noppa.positions ? noppa.positions + places[t] * wide : s.zeros; };
    read_units(noppa.table, ids, nullptr, tokens, units);
    each_chunk(noppa.table, [&](int64_t column, int64_t count, int64_t block, const auto& chunk) {
        const int64_t at = column - noppa.pair_start;
        if (at >= dim || at + count <= 0) return;
        const auto read = [&](int64_t t, vf(&values)[2]) {
            chunk.levels(ids[t], values);
            chunk.order(values);
            const vf unit = all(units[t * blocks + block]);
            for (int v = 0; v < 2; ++v) values[v] *= unit;
        };
        vf values[2];
        if (at >= 0 && at + BLOCK <= wide) {  // whole vectors: what follows is written later
            for (int64_t t = 0; t < tokens; ++t) {
                read(t, values);
                float* to = vectors + t * stride + at;
                const float* position = position_of(t) + at;
                for (int v = 0; v < 2; ++v) store(to + v * WIDTH, values[v] + load(position + v * WIDTH));
            }
            return;
        }
        for (int64_t t = 0; t < tokens; ++t) {
            float some[BLOCK];
            read(t, values);
            __builtin_memcpy(some, values, sizeof some);
            for (int64_t m = at < 0 ? 0 : at; m < at + count && m < dim; ++m)
                vectors[t * stride + m] = some[m - at] + position_of(t)[m];
        }
    });
    for (int64_t t = 0; t < tokens; ++t)
        for (int64_t m = dim; m < wide; ++m) vectors[t * stride + m] = 0;
}

void read_compared(const Noppa& noppa, Sentence& s) {
    for (int64_t m = 0; !noppa.positions && m < padded(s.words().dim); ++m) s.zeros[m] = 0;
    for (int64_t t = 0; t < s.words().tokens; t += SUMMED)
        read_some(noppa, s, t, s.words().tokens - t < SUMMED ? s.words().tokens - t : SUMMED);
}

// Equation 9, its parts in the given order: [context ; word] is the paper's.
int64_t pool_with(const Noppa& noppa, const int32_t* ids, int64_t tokens, const Sharing* sharing, void* scratch,
                  float* row) {
    const Table& table = noppa.table;
    Memory memory{aligned(scratch)};
    Sentence s = lay_out(noppa, tokens, memory);
    list_known(noppa, ids, tokens, s);
    const int64_t known = s.words().tokens;
    if (!known) {
        for (int64_t m = 0; m < noppa.width; ++m) row[m] = 0;
        return 0;
    }
    if (noppa.has_pairs) {
        for (int64_t m = 0; known == 1 && m < PAIR_SUMS * s.words().stride; ++m) s.pairs.tile.sums[m] = 0;
        read_compared(noppa, s);
        if (known > 1) s.pairs.run(sharing);
    }
    for (int64_t p = 0; p < noppa.parts.size; ++p) {
        const int64_t part = noppa.parts.values[p];
        if (part == PART_WORD) sum_words(table, s.ids, s.shares, known, s.word_sum, row);
        else if (is_of_pairs(part)) s.pairs.write(part == PART_CONTEXT ? 0 : part == PART_ORDERED ? 1 : 2, row);
        else write_word_part(table, part, s.ids, s.shares, known, s.word_part, row);
        row += is_of_pairs(part) ? noppa.pair_dim : table.dim;
    }
    return known;
}

int64_t Noppa::pool(const int32_t* ids, int64_t tokens, void* scratch, float* row) const {
    return pool_with(*this, ids, tokens, nullptr, scratch, row);
}

int64_t Noppa::pool_shared(const int32_t* ids, int64_t tokens, const Sharing& sharing, void* scratch,
                           float* row) const {
    return pool_with(*this, ids, tokens, &sharing, scratch, row);
}

}  // namespace
}  // namespace noppa

NOPPA_METHOD(Noppa)
