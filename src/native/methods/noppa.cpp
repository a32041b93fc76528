// NoPPA: equations 9 to 13 of the paper.
//
// The log kernel is symmetric and zero for a word with itself, so the contextual half of a sentence is one pass over
// its n(n-1)/2 pairs:
//     1/n sum_i w_i sum_j A_ij K(v'_i - v'_j)  =  sum_{i<j} c_ij K(v'_i - v'_j),   c_ij = (w_i A_ij + w_j A_ji) / n.
// Scores v'_i·v'_j are symmetric too. A tile of pairs is summed in float32, tiles in float64.
#include "methods/attention.hpp"
#include "methods/pair_sums.hpp"
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

// Floats from one token's vector to the next: an odd number of cache lines, so that the same block of many tokens never
// crowds one set of the cache.
int64_t stride_of(int64_t dim) { return (padded(dim) / 16 | 1) * 16; }

// Scratch of a tile of pairs; `sums` is (PAIR_SUMS, stride).
struct TileScratch {
    float *scores, *turned, *sums;
    Pair* pairs;
};

// Scratch of one sentence. `shares` are weights over the number of words, `totals` (tiles, PAIR_SUMS, stride) the sums of each
// row of tiles, where there are several.
struct Sentence {
    int32_t *ids, *places;
    float *shares, *zeros;
    double* totals;
    TileScratch tile;
    SumScratch word_sum;
    WordPartScratch word_part;
    Attention words;
};

TileScratch lay_out_tile(int64_t tokens, int64_t stride, Memory& memory) {
    const int64_t pairs = tokens <= TILE ? tokens * tokens / 2 + 2 : TILE * TILE + 2;
    return {memory.take<float>(TILE * TILE), memory.take<float>(tokens > TILE ? TILE * TILE : 0),
            memory.take<float>(PAIR_SUMS * stride), memory.take<Pair>(pairs)};
}

int64_t tiles_of(int64_t tokens) { return (tokens + TILE - 1) / TILE; }

Sentence lay_out(const Noppa& noppa, int64_t tokens, Memory& memory) {
    const int64_t rows = rounded_up(tokens, TILE), stride = stride_of(noppa.pair_dim);
    Sentence s;
    s.ids = memory.take<int32_t>(tokens);
    s.places = memory.take<int32_t>(tokens);
    s.shares = memory.take<float>(tokens);
    s.zeros = memory.take<float>(noppa.positions ? 0 : padded(noppa.pair_dim));
    s.totals = memory.take<double>(tokens > TILE ? times(tiles_of(tokens), PAIR_SUMS * stride) : 0);
    s.tile = lay_out_tile(tokens, stride, memory);
    s.word_sum = lay_out_sum(noppa.table, tokens, memory);
    s.word_part = lay_out_word_part(noppa.table, memory);
    s.words = {tokens,
               noppa.pair_dim,
               stride,
               memory.take<float>(noppa.has_pairs ? times(tokens, stride) : 0),
               memory.take<float>(rows),
               memory.take<float>(rows),
               memory.take<float>(rows),
               memory.take<double>(rows)};
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
        s.words.weights[known++] = noppa.weights ? noppa.weights[ids[t]] : 1.0f;
    }
    s.words.tokens = known;
    for (int64_t t = 0; t < known; ++t) s.shares[t] = float(double(s.words.weights[t]) / double(known));
}

// Equation 10 for up to SUMMED words from `first` on: their compared columns with positions, and zeros up to whole vectors.
void read_some(const Noppa& noppa, Sentence& s, int64_t first, int64_t tokens) {
    const int64_t dim = s.words.dim, wide = padded(dim), stride = s.words.stride, blocks = units_of(noppa.table);
    const int32_t *ids = s.ids + first, *places = s.places + first;
    float *vectors = s.words.vectors + first * stride, *units = s.word_sum.units;
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
    for (int64_t m = 0; !noppa.positions && m < padded(s.words.dim); ++m) s.zeros[m] = 0;
    for (int64_t t = 0; t < s.words.tokens; t += SUMMED)
        read_some(noppa, s, t, s.words.tokens - t < SUMMED ? s.words.tokens - t : SUMMED);
}

// The pairs of a tile in a row, an even number of them: the last may be a token with itself, which adds nothing.
int64_t list_pairs(const Attention& words, const Tile& tile, const float* c, Pair* pairs) {
    int64_t count = 0;
    for (int64_t r = 0; r < tile.rows; ++r)
        for (int64_t q = tile.diagonal() ? r + 1 : 0; q < tile.columns; ++q)
            pairs[count++] = {(tile.i + r) * words.stride, (tile.j + q) * words.stride, c[r * TILE + q]};
    if (count % 2) pairs[count++] = {tile.i * words.stride, tile.i * words.stride, 0.0f};
    return count;
}

Tile tile_at(const Attention& words, int64_t i, int64_t j) {
    const auto size = [&](int64_t t) { return words.tokens - t * TILE < TILE ? words.tokens - t * TILE : TILE; };
    return {i * TILE, size(i), j * TILE, size(j)};
}

// The pairs of a sentence, tile by tile, alone or shared by threads: the bytes are the same. Every token meets the others in
// their order, and sums over a row of tiles are added in the order of the rows.
struct PairWork {
    const Noppa& noppa;
    Sentence& s;
    float scale;

    void score_tile(const Tile& tile, float* scores) { score(s.words, scale, noppa.attend_self, tile, scores); }

    // The softmax of all tokens, each pair scored once.
    void attend() {
        for (int64_t i = 0; i < tiles(); ++i)
            for (int64_t j = i; j < tiles(); ++j) {
                score_tile(tile_at(s.words, i, j), s.tile.scores);
                extend_tile(s.words, tile_at(s.words, i, j), s.tile.scores, s.tile.turned);
            }
    }
    // The softmax of the tokens of one column of tiles, whatever other threads do.
    void attend_column(int64_t j, float* scores) {
        for (int64_t i = 0; i < tiles(); ++i) {
            const Tile tile = tile_at(s.words, i, j);
            score_tile(tile, scores);
            extend(s.words, tile.j, scores, tile.rows, tile.columns);
        }
    }
    void add_tile(const Tile& tile, const TileScratch& with) {
        coefficients(s.words, tile, with.scores);
        noppa.sum_pairs(s.words, tile, with.pairs, list_pairs(s.words, tile, with.scores, with.pairs), with.sums);
    }
    void add_row(int64_t i, const TileScratch& with) {
        double* totals = totals_of(i);
        for (int64_t m = 0; m < size(); ++m) with.sums[m] = 0;
        for (int64_t m = 0; m < size(); ++m) totals[m] = 0;
        for (int64_t j = i; j < tiles(); ++j) {
            score_tile(tile_at(s.words, i, j), with.scores);
            add_tile(tile_at(s.words, i, j), with);
            for (int64_t m = 0; m < size(); ++m) totals[m] += double(with.sums[m]);
        }
    }
    void add_rows_up() {
        for (int64_t i = 1; i < tiles(); ++i)
            for (int64_t m = 0; m < size(); ++m) s.totals[m] += totals_of(i)[m];
    }

    int64_t tiles() const { return tiles_of(s.words.tokens); }
    int64_t size() const { return PAIR_SUMS * s.words.stride; }
    double* totals_of(int64_t row) const { return s.totals + row * size(); }
};

void contextual(const Noppa& noppa, Sentence& s, const Sharing* sharing) {
    Attention& words = s.words;
    PairWork work{noppa, s, float(1.0 / __builtin_sqrt(double(words.dim)))};
    const int64_t n = words.tokens, tiles = work.tiles();
    if (tiles == 1) sharing = nullptr;  // all but a few tokens may be unknown
    Memory room{0};
    lay_out_tile(n, words.stride, room);
    for (int64_t t = 0; t < tiles * TILE; ++t) {
        words.top[t] = NOTHING;
        words.mass[t] = 0;
        words.share[t] = 0;
    }
    const auto attend_column = [](void* context, int64_t j, void* scratch) {
        PairWork& shared = *static_cast<PairWork*>(context);
        Memory memory{aligned(scratch)};
        shared.attend_column(j, lay_out_tile(shared.s.words.tokens, shared.s.words.stride, memory).scores);
    };
    if (sharing) sharing->run(tiles, room.room(), attend_column, &work);
    else work.attend();
    for (int64_t t = 0; t < n; ++t)
        words.share[t] = words.mass[t] > 0 ? float(words.weights[t] / (words.mass[t] * double(n))) : 0;
    if (tiles == 1) return work.add_tile(tile_at(words, 0, 0), s.tile);
    const auto add_row = [](void* context, int64_t i, void* scratch) {
        PairWork& shared = *static_cast<PairWork*>(context);
        Memory memory{aligned(scratch)};
        shared.add_row(i, lay_out_tile(shared.s.words.tokens, shared.s.words.stride, memory));
    };
    for (int64_t i = 0; !sharing && i < tiles; ++i) work.add_row(i, s.tile);
    if (sharing) sharing->run(tiles, room.room(), add_row, &work);
    work.add_rows_up();
}

// A row of sums over pairs; + 0 makes a negative zero positive.
void write_pairs(const Sentence& s, int64_t sum, float* row) {
    const int64_t first = sum * s.words.stride;
    if (s.words.tokens > TILE)
        for (int64_t m = 0; m < s.words.dim; ++m) row[m] = float(s.totals[first + m]);
    else
        for (int64_t m = 0; m < s.words.dim; ++m) row[m] = s.tile.sums[first + m] + 0.0f;
}

// Equation 9, its parts in the given order: [context ; word] is the paper's.
int64_t pool_with(const Noppa& noppa, const int32_t* ids, int64_t tokens, const Sharing* sharing, void* scratch,
                  float* row) {
    const Table& table = noppa.table;
    Memory memory{aligned(scratch)};
    Sentence s = lay_out(noppa, tokens, memory);
    list_known(noppa, ids, tokens, s);
    const int64_t known = s.words.tokens;
    if (!known) {
        for (int64_t m = 0; m < noppa.width; ++m) row[m] = 0;
        return 0;
    }
    if (noppa.has_pairs) {
        for (int64_t m = 0; known == 1 && m < PAIR_SUMS * s.words.stride; ++m) s.tile.sums[m] = 0;
        read_compared(noppa, s);
        if (known > 1) contextual(noppa, s, sharing);
    }
    for (int64_t p = 0; p < noppa.parts.size; ++p) {
        const int64_t part = noppa.parts.values[p];
        if (part == PART_WORD) sum_words(table, s.ids, s.shares, known, s.word_sum, row);
        else if (is_of_pairs(part)) write_pairs(s, part == PART_CONTEXT ? 0 : part == PART_ORDERED ? 1 : 2, row);
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
