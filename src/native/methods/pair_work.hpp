// The sums of equation 12 over all pairs of a sentence, tile by tile, by one thread or by several that share it.
//
// The bytes are the same: the softmax of a stripe of rows of tiles, and the sums of a row of tiles, are made apart and joined in
// their order. A tile of pairs is summed in float32, tiles in float64.
#pragma once

#include "methods/attention.hpp"
#include "methods/pair_sums.hpp"
#include "pooling/method.hpp"
#include "sizes.hpp"

namespace {

// Rows of tiles whose softmax is made together, every sixteenth: so many threads can share it.
constexpr int64_t STRIPES = 16;

// Floats from one token's vector to the next: an odd number of cache lines, so that the same block of many tokens never
// crowds one set of the cache.
int64_t stride_of(int64_t dim) { return (padded(dim) / 16 | 1) * 16; }

int64_t tiles_of(int64_t tokens) { return (tokens + TILE - 1) / TILE; }

Tile tile_at(const Attention& words, int64_t i, int64_t j) {
    const auto size = [&](int64_t t) { return words.tokens - t * TILE < TILE ? words.tokens - t * TILE : TILE; };
    return {i * TILE, size(i), j * TILE, size(j)};
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

// Scratch of a tile of pairs; `sums` is (PAIR_SUMS, stride).
struct TileScratch {
    float *scores, *turned, *sums;
    Pair* pairs;
};

TileScratch lay_out_tile(int64_t tokens, int64_t stride, Memory& memory) {
    const int64_t pairs = tokens <= TILE ? tokens * tokens / 2 + 2 : TILE * TILE + 2;
    return {memory.take<float>(TILE * TILE), memory.take<float>(tokens > TILE ? TILE * TILE : 0),
            memory.take<float>(PAIR_SUMS * stride), memory.take<Pair>(pairs)};
}

// Where there are several tiles, `totals` (tiles, PAIR_SUMS, stride) are the sums of each row of them, `tops` and `masses`
// (STRIPES, rows) the softmax of each stripe.
struct PairWork {
    Attention words;
    TileScratch tile;
    double* totals;
    float* tops;
    double* masses;
    bool attend_self;
    SumPairs* sum_pairs;

    void run(const noppa::Sharing* sharing);
    // One of PAIR_SUMS sums (dim,); + 0 makes a negative zero positive.
    void write(int64_t sum, float* row) const {
        const int64_t first = sum * words.stride;
        if (words.tokens > TILE)
            for (int64_t m = 0; m < words.dim; ++m) row[m] = float(totals[first + m]);
        else
            for (int64_t m = 0; m < words.dim; ++m) row[m] = tile.sums[first + m] + 0.0f;
    }

    void score_tile(const Tile& at, float* scores) const {
        score(words, float(1.0 / __builtin_sqrt(double(words.dim))), attend_self, at, scores);
    }
    void attend(int64_t stripe, const TileScratch& with) const {
        Attention part = stripe_of(stripe);
        clear_softmax(part, rounded_up(part.tokens, TILE));
        for (int64_t i = stripe; i < tiles_of(words.tokens); i += STRIPES)
            for (int64_t j = i; j < tiles_of(words.tokens); ++j) {
                score_tile(tile_at(words, i, j), with.scores);
                extend_tile(part, tile_at(words, i, j), with.scores, with.turned);
            }
    }
    void add_tile(const Tile& at, const TileScratch& with) const {
        coefficients(words, at, with.scores);
        sum_pairs(words, at, with.pairs, list_pairs(words, at, with.scores, with.pairs), with.sums);
    }
    void add_row(int64_t i, const TileScratch& with) const {
        double* sums = totals + i * size();
        for (int64_t m = 0; m < size(); ++m) with.sums[m] = 0;
        for (int64_t m = 0; m < size(); ++m) sums[m] = 0;
        for (int64_t j = i; j < tiles_of(words.tokens); ++j) {
            score_tile(tile_at(words, i, j), with.scores);
            add_tile(tile_at(words, i, j), with);
            for (int64_t m = 0; m < size(); ++m) sums[m] += double(with.sums[m]);
        }
    }

    // The words with the softmax of a stripe in place of the whole one.
    Attention stripe_of(int64_t stripe) const {
        const int64_t rows = rounded_up(words.tokens, TILE);
        Attention part = words;
        part.top = tops + stripe * rows;
        part.mass = masses + stripe * rows;
        return part;
    }
    int64_t size() const { return PAIR_SUMS * words.stride; }
};

// For up to `tokens` words that are compared in `dim` columns.
PairWork lay_out_pairs(int64_t tokens, int64_t dim, bool has_pairs, Memory& memory) {
    const int64_t rows = rounded_up(tokens, TILE), stride = stride_of(dim), several = has_pairs && tokens > TILE;
    PairWork work{};
    work.words = {tokens,
                  dim,
                  stride,
                  memory.take<float>(has_pairs ? times(tokens, stride) : 0),
                  memory.take<float>(rows),
                  memory.take<float>(rows),
                  memory.take<float>(rows),
                  memory.take<double>(rows)};
    work.tile = lay_out_tile(tokens, stride, memory);
    work.totals = memory.take<double>(several * times(tiles_of(tokens), PAIR_SUMS * stride));
    work.tops = memory.take<float>(several * times(STRIPES, rows));
    work.masses = memory.take<double>(several * times(STRIPES, rows));
    return work;
}

// Calls Piece::of(work, number, scratch) for every number below `count`, alone or on the threads that share.
template <class Piece>
void each_piece(PairWork& work, int64_t count, const noppa::Sharing* sharing) {
    const auto shared = [](void* context, int64_t number, void* scratch) {
        const PairWork& whole = *static_cast<PairWork*>(context);
        Memory memory{aligned(scratch)};
        Piece::of(whole, number, lay_out_tile(whole.words.tokens, whole.words.stride, memory));
    };
    Memory room{0};
    lay_out_tile(work.words.tokens, work.words.stride, room);
    if (sharing) return sharing->run(count, room.room(), shared, &work);
    for (int64_t number = 0; number < count; ++number) Piece::of(work, number, work.tile);
}

struct AttendStripe {
    static void of(const PairWork& work, int64_t stripe, const TileScratch& with) { work.attend(stripe, with); }
};
struct AddRow {
    static void of(const PairWork& work, int64_t row, const TileScratch& with) { work.add_row(row, with); }
};

inline void PairWork::run(const noppa::Sharing* sharing) {
    const int64_t n = words.tokens, tiles = tiles_of(n), stripes = tiles < STRIPES ? tiles : STRIPES;
    clear_softmax(words, tiles * TILE);
    if (tiles == 1) {
        score_tile(tile_at(words, 0, 0), tile.scores);
        extend_tile(words, tile_at(words, 0, 0), tile.scores, tile.turned);
    } else {
        each_piece<AttendStripe>(*this, stripes, sharing);
        for (int64_t stripe = 0; stripe < stripes; ++stripe) join_softmax(words, stripe_of(stripe));
    }
    for (int64_t t = 0; t < tiles * TILE; ++t)
        words.share[t] = t < n && words.mass[t] > 0 ? float(words.weights[t] / (words.mass[t] * double(n))) : 0;
    if (tiles == 1) return add_tile(tile_at(words, 0, 0), tile);
    each_piece<AddRow>(*this, tiles, sharing);
    for (int64_t i = 1; i < tiles; ++i)
        for (int64_t m = 0; m < size(); ++m) totals[m] += totals[i * size() + m];
}

}  // namespace
