// Equation 13 of the paper: scores of every pair of words, their softmax, and the coefficients of the pairs' kernels.
//
// Pairs are taken in tiles of TILE x TILE words: a sentence that fits one tile keeps its scores, a longer one computes them
// twice (for the softmax, then for the coefficients) and never holds an n x n matrix.
#pragma once

#include "pooling/positions.hpp"
#include "pooling/simd.hpp"

namespace {

constexpr int64_t TILE = 64;

// The words of a sentence as they attend to each other: vectors (tokens, stride), zero from `dim` on.
struct Attention {
    int64_t tokens, dim, stride;
    float *vectors, *weights, *top, *share;
    double* mass;
};

struct Tile {
    int64_t i, rows, j, columns;  // words [i, i + rows) against [j, j + columns)
    bool diagonal() const { return i == j; }
};

// Scores of ROWS tokens from i on with COLUMNS tokens from j on; of a square on the DIAGONAL, with those that are not
// before. Each score has the bytes it has alone.
template <int ROWS, int COLUMNS, bool DIAGONAL>
void score_some(const Attention& s, float scale, int64_t i, int64_t j, float* out) {
    vf total[ROWS][COLUMNS] = {};
    const float *rows = s.vectors + i * s.stride, *columns = s.vectors + j * s.stride;
    for (int64_t m = 0; m < s.dim; m += WIDTH) {
        vf here[ROWS];
        for (int r = 0; r < ROWS; ++r) here[r] = load(rows + r * s.stride + m);
        for (int c = 0; c < COLUMNS; ++c) {
            const vf there = load(columns + c * s.stride + m);
            for (int r = 0; r < ROWS; ++r)
                if (!DIAGONAL || r <= c) total[r][c] += here[r] * there;
        }
    }
    for (int r = 0; r < ROWS; ++r)
        for (int c = DIAGONAL ? r : 0; c < COLUMNS; ++c) out[r * TILE + c] = sum(total[r][c]) * scale;
}

// What is scored together: as many as there are registers for their sums.
constexpr int SCORED_ROWS = WIDTH == 16 ? 4 : 2, SCORED_COLUMNS = 4;

template <int ROWS, bool DIAGONAL>
void score_columns(const Attention& s, float scale, int64_t i, int64_t j, int64_t columns, float* out) {
    switch (columns) {
        case 1: return score_some<ROWS, 1, DIAGONAL>(s, scale, i, j, out);
        case 2: return score_some<ROWS, 2, DIAGONAL>(s, scale, i, j, out);
        case 3: return score_some<ROWS, 3, DIAGONAL>(s, scale, i, j, out);
        default: return score_some<ROWS, SCORED_COLUMNS, DIAGONAL>(s, scale, i, j, out);
    }
}

template <bool DIAGONAL>
void score_rows(const Attention& s, float scale, int64_t i, int64_t rows, int64_t j, int64_t columns, float* out) {
    if (rows >= SCORED_ROWS) return score_columns<SCORED_ROWS, DIAGONAL>(s, scale, i, j, columns, out);
    switch (rows) {
        case 1: return score_columns<1, DIAGONAL>(s, scale, i, j, columns, out);
        case 2: return score_columns<2, DIAGONAL>(s, scale, i, j, columns, out);
        default: return score_columns<SCORED_ROWS - 1, DIAGONAL>(s, scale, i, j, columns, out);
    }
}

// Equation 13 before its softmax: scores (TILE, TILE) of a tile, both triangles of a diagonal one. Cells past the
// tile's own are the lowest float, which a softmax makes nothing of.
constexpr float NOTHING = -3.4e38f;

void score(const Attention& s, float scale, bool attend_self, const Tile& tile, float* scores) {
    for (int64_t r = 0; r < tile.rows; r += SCORED_ROWS)
        for (int64_t c = tile.diagonal() ? r : 0; c < tile.columns; c += SCORED_COLUMNS) {
            const auto some = tile.diagonal() && c == r ? score_rows<true> : score_rows<false>;
            some(s, scale, tile.i + r, tile.rows - r, tile.j + c, tile.columns - c, scores + r * TILE + c);
        }
    for (int64_t r = 0; r < tile.rows; ++r)
        for (int64_t c = tile.columns; c < rounded_up(tile.columns, WIDTH); ++c) scores[r * TILE + c] = NOTHING;
    if (!tile.diagonal()) return;
    for (int64_t r = 0; r < tile.rows; ++r) {
        for (int64_t c = 0; c < r; ++c) scores[r * TILE + c] = scores[c * TILE + r];
        if (!attend_self) scores[r * TILE + r] = NOTHING;
    }
}

// The softmax of tokens [first, first + columns) goes on over `rows` more scores each, one column a token: maximum, and
// mass relative to it. Columns lie in lanes, so nothing is summed across a vector.
void extend(Attention& s, int64_t first, const float* scores, int64_t rows, int64_t columns) {
    for (int64_t c = 0; c < columns; c += WIDTH) {
        const vf before = load(s.top + first + c);
        vf top = before, mass = {};
        for (int64_t r = 0; r < rows; ++r) top = larger(top, load(scores + r * TILE + c));
        for (int64_t r = 0; r < rows; ++r) mass += exp_of(load(scores + r * TILE + c) - top);
        store(s.top + first + c, top);
        float shrunk[WIDTH], more[WIDTH];
        store(shrunk, exp_of(before - top));
        store(more, mass);
        double* masses = s.mass + first + c;
        for (int lane = 0; lane < WIDTH; ++lane)
            masses[lane] = masses[lane] * double(shrunk[lane]) + double(more[lane]);
    }
}

void extend_tile(Attention& s, const Tile& tile, const float* scores, float* turned) {
    extend(s, tile.j, scores, tile.rows, tile.columns);
    if (tile.diagonal()) return;
    const int64_t tall = rounded_up(tile.rows, WIDTH);
    for (int64_t c = 0; c < tile.columns; ++c)
        for (int64_t r = 0; r < tall; ++r) turned[c * TILE + r] = r < tile.rows ? scores[r * TILE + c] : NOTHING;
    extend(s, tile.i, turned, tile.columns, tile.rows);
}

void clear_softmax(Attention& s, int64_t rows) {
    for (int64_t t = 0; t < rows; ++t) {
        s.top[t] = NOTHING;
        s.mass[t] = 0;
    }
}

// Adds the softmax of another part of the scores.
void join_softmax(Attention& s, const Attention& part) {
    for (int64_t t = 0; t < s.tokens; t += WIDTH) {
        const vf before = load(s.top + t), more = load(part.top + t), top = larger(before, more);
        float shrunk[WIDTH], added[WIDTH];
        store(shrunk, exp_of(before - top));
        store(added, exp_of(more - top));
        store(s.top + t, top);
        for (int lane = 0; lane < WIDTH; ++lane)
            s.mass[t + lane] = s.mass[t + lane] * double(shrunk[lane]) + part.mass[t + lane] * double(added[lane]);
    }
}

// c_ij of a tile, in place of its scores; share is w / (mass · n).
void coefficients(const Attention& s, const Tile& tile, float* scores) {
    for (int64_t r = 0; r < tile.rows; ++r) {
        const vf top = all(s.top[tile.i + r]), share = all(s.share[tile.i + r]);
        float* row = scores + r * TILE;
        for (int64_t c = 0; c < tile.columns; c += WIDTH) {
            const vf cell = load(row + c);
            const vf there = exp_of(cell - load(s.top + tile.j + c)) * load(s.share + tile.j + c);
            store(row + c, exp_of(cell - top) * share + there);
        }
    }
}

}  // namespace
