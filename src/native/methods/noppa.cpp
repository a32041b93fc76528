// NoPPA: equations 9 to 13 of the paper.
//
// The log kernel is symmetric and zero for a word with itself, so the contextual half of a sentence is one pass over
// its n(n-1)/2 pairs:
//     1/n sum_i w_i sum_j A_ij K(v'_i - v'_j)  =  sum_{i<j} c_ij K(v'_i - v'_j),   c_ij = (w_i A_ij + w_j A_ji) / n.
// Scores v'_i·v'_j are symmetric too. Pairs are taken in tiles of TILE x TILE tokens: a sentence that fits one tile keeps
// its scores, a longer one computes them twice (for the softmax, then for the coefficients) and never holds an n x n
// matrix. A tile is summed in float32, tiles in float64.
#include "methods/pair_sums.hpp"
#include "pooling/arguments.hpp"
#include "pooling/method.hpp"
#include "pooling/positions.hpp"
#include "pooling/rows.hpp"
#include "pooling/simd.hpp"
#include "sizes.hpp"

namespace noppa {
namespace {

constexpr int64_t TILE = 64;

struct Noppa final : Method {
    const float* weights;    // (words + 1,) or null
    const float* positions;  // (longest, padded pair_dim) or null
    bool attend_self;
    bool dropped_take_position;
    Vector<int64_t> parts;         // what a row consists of, in order
    int64_t pair_start, pair_dim;  // the columns in which words attend to each other and are compared
    SumPairs* sum_pairs;
    bool has_word = false, has_pairs = false, has_ordered = false, has_product = false;

    Noppa(const Table& table, const Arguments& arguments);
    double cost(double tokens) const override {
        return tokens * (double(table.dim) + double(pair_dim) * 0.15 * tokens);
    }
    size_t scratch_bytes(int64_t tokens) const override;
    int64_t pool(const int32_t* ids, int64_t tokens, void* scratch, float* row) const override;
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
        has_word |= part == PART_WORD;
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

// Scratch of one sentence. vectors holds the compared columns of v', (tokens, stride), zero from `pair_dim` on. word and
// long_word are sums over the words in all columns: of up to TILE of them, and of those of a longer sentence.
struct Sentence {
    int64_t tokens, dim, pair_dim, stride;
    int32_t *ids, *places;
    float *vectors, *weights, *units, *top, *share, *sum, *word;
    double *mass, *context, *long_word, *spare;
    Pair* pairs;
};

Sentence lay_out(const Noppa& noppa, int64_t tokens, Memory& memory) {
    const int64_t dim = noppa.table.dim, wide = stride_of(dim), rows = rounded_up(tokens, TILE);
    const int64_t pairs = tokens <= TILE ? tokens * tokens / 2 + 2 : TILE * TILE + 2;
    Sentence s;
    s.tokens = tokens;
    s.dim = dim;
    s.pair_dim = noppa.pair_dim;
    s.stride = stride_of(s.pair_dim);
    s.ids = memory.take<int32_t>(tokens);
    s.places = memory.take<int32_t>(tokens);
    s.units = memory.take<float>(TILE);
    s.word = memory.take<float>(wide);
    s.vectors = memory.take<float>(noppa.has_pairs ? times(tokens, s.stride) : 0);
    s.weights = memory.take<float>(rows);
    s.top = memory.take<float>(rows);
    s.share = memory.take<float>(rows);
    s.sum = memory.take<float>(PAIR_SUMS * wide);
    s.mass = memory.take<double>(rows);
    s.context = memory.take<double>(PAIR_SUMS * s.stride);
    s.spare = memory.take<double>(2 * wide);
    s.long_word = memory.take<double>(tokens > TILE ? wide : 0);
    s.pairs = memory.take<Pair>(pairs);
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
    s.tokens = 0;
    for (int64_t t = 0; t < tokens; ++t) {
        if (ids[t] == DROPPED) {
            place += noppa.dropped_take_position;
            continue;
        }
        s.ids[s.tokens] = ids[t];
        s.places[s.tokens] = place++;
        s.weights[s.tokens++] = noppa.weights ? noppa.weights[ids[t]] : 1.0f;
    }
}

// Copies those of `count` values for the columns from `at` on that lie within a vector of `stride` columns.
void place(const vf (&values)[2], int64_t count, int64_t at, int64_t stride, float* vector) {
    if (at >= 0 && at + count <= stride) {
        store(vector + at, values[0]);
        if (count > WIDTH) store(vector + at + WIDTH, values[1]);
        return;
    }
    const int64_t first = at < 0 ? -at : 0, last = at + count > stride ? stride - at : count;
    float some[2 * WIDTH];
    __builtin_memcpy(some, values, sizeof some);
    if (first < last) __builtin_memcpy(vector + at + first, some + first, size_t(last - first) * sizeof(float));
}

// Adds up to TILE words from `first` on: s.word is their weighted sum, and s.vectors has the compared columns of each where
// pairs need them. Columns are the outer loop, so that sums stay in registers.
void gather_some(const Noppa& noppa, Sentence& s, int64_t first, int64_t count) {
    const int64_t stride = s.stride, pair_start = noppa.pair_start, pair_stop = pair_start + s.pair_dim;
    const float* weights = s.weights + first;
    float *vectors = noppa.has_pairs ? s.vectors + first * stride : nullptr, *word = s.word;
    read_columns(noppa.table, s.ids + first, count, s.units, [=](int64_t column, int64_t columns, auto read) {
        const bool second = columns > WIDTH, compared = vectors && column < pair_stop && column + columns > pair_start;
        vf sum[2] = {};
        for (int64_t t = 0; t < count; ++t) {
            vf values[2];
            read(t, values);
            for (int v = 0; v < 2; ++v) sum[v] += weights[t] * values[v];
            if (compared) place(values, second ? 2 * WIDTH : WIDTH, column - pair_start, stride, vectors + t * stride);
        }
        store(word + column, sum[0]);
        if (second) store(word + column + WIDTH, sum[1]);
    });
}

// Equation 10 in the compared columns, and zeros behind them.
void add_positions(const Noppa& noppa, Sentence& s) {
    for (int64_t t = 0; t < s.tokens; ++t) {
        float* vector = s.vectors + t * s.stride;
        for (int64_t m = s.pair_dim; m < s.stride; ++m) vector[m] = 0;
        if (!noppa.positions) continue;
        const float* position = noppa.positions + s.places[t] * padded(s.pair_dim);
        for (int64_t m = 0; m < s.pair_dim; ++m) vector[m] += position[m];
    }
}

void gather(const Noppa& noppa, Sentence& s) {
    for (int64_t m = 0; s.tokens > TILE && m < s.dim; ++m) s.long_word[m] = 0;
    for (int64_t t = 0; t < s.tokens; t += TILE) {
        gather_some(noppa, s, t, s.tokens - t < TILE ? s.tokens - t : TILE);
        for (int64_t m = 0; s.tokens > TILE && m < s.dim; ++m) s.long_word[m] += double(s.word[m]);
    }
    if (noppa.has_pairs) add_positions(noppa, s);
}

// The word half. Of a sum of floats, the quotient as a float is that of doubles rounded; + 0 makes a negative zero positive.
void write_word(const Sentence& s, float* row) {
    const double length = s.tokens ? double(s.tokens) : 1.0;
    if (s.tokens > TILE)
        for (int64_t m = 0; m < s.dim; ++m) row[m] = float(s.long_word[m] / length);
    else
        for (int64_t m = 0; m < s.dim; ++m) row[m] = (s.word[m] + 0.0f) / float(length);
}

// Scores of ROWS tokens from i on with COLUMNS tokens from j on; of a square on the DIAGONAL, with those that are not
// before. Each score has the bytes it has alone.
template <int ROWS, int COLUMNS, bool DIAGONAL>
void score_some(const Sentence& s, float scale, int64_t i, int64_t j, float* out) {
    vf total[ROWS][COLUMNS] = {};
    const float *rows = s.vectors + i * s.stride, *columns = s.vectors + j * s.stride;
    for (int64_t m = 0; m < s.pair_dim; m += WIDTH) {
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
void score_columns(const Sentence& s, float scale, int64_t i, int64_t j, int64_t columns, float* out) {
    switch (columns) {
        case 1: return score_some<ROWS, 1, DIAGONAL>(s, scale, i, j, out);
        case 2: return score_some<ROWS, 2, DIAGONAL>(s, scale, i, j, out);
        case 3: return score_some<ROWS, 3, DIAGONAL>(s, scale, i, j, out);
        default: return score_some<ROWS, SCORED_COLUMNS, DIAGONAL>(s, scale, i, j, out);
    }
}

template <bool DIAGONAL>
void score_rows(const Sentence& s, float scale, int64_t i, int64_t rows, int64_t j, int64_t columns, float* out) {
    if (rows >= SCORED_ROWS) return score_columns<SCORED_ROWS, DIAGONAL>(s, scale, i, j, columns, out);
    switch (rows) {
        case 1: return score_columns<1, DIAGONAL>(s, scale, i, j, columns, out);
        case 2: return score_columns<2, DIAGONAL>(s, scale, i, j, columns, out);
        default: return score_columns<SCORED_ROWS - 1, DIAGONAL>(s, scale, i, j, columns, out);
    }
}

struct Tile {
    int64_t i, rows, j, columns;  // tokens [i, i + rows) against [j, j + columns)
    bool diagonal() const { return i == j; }
};

// Equation 13 before its softmax: scores (TILE, TILE) of a tile, both triangles of a diagonal one. Cells past the
// tile's own are the lowest float, which a softmax makes nothing of.
constexpr float NOTHING = -3.4e38f;

void score(const Sentence& s, float scale, bool attend_self, const Tile& tile, float* scores) {
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
void extend(Sentence& s, int64_t first, const float* scores, int64_t rows, int64_t columns) {
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

void extend_tile(Sentence& s, const Tile& tile, const float* scores, float* turned) {
    extend(s, tile.j, scores, tile.rows, tile.columns);
    if (tile.diagonal()) return;
    const int64_t tall = rounded_up(tile.rows, WIDTH);
    for (int64_t c = 0; c < tile.columns; ++c)
        for (int64_t r = 0; r < tall; ++r) turned[c * TILE + r] = r < tile.rows ? scores[r * TILE + c] : NOTHING;
    extend(s, tile.i, turned, tile.columns, tile.rows);
}

// c_ij of a tile, in place of its scores; share is w / (mass · n).
void coefficients(const Sentence& s, const Tile& tile, float* scores) {
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

// The pairs of a tile in a row, an even number of them: the last may be a token with itself, which adds nothing.
int64_t list_pairs(const Sentence& s, const Tile& tile, const float* c) {
    int64_t count = 0;
    for (int64_t r = 0; r < tile.rows; ++r)
        for (int64_t q = tile.diagonal() ? r + 1 : 0; q < tile.columns; ++q)
            s.pairs[count++] = {(tile.i + r) * s.stride, (tile.j + q) * s.stride, c[r * TILE + q]};
    if (count % 2) s.pairs[count++] = {0, 0, 0.0f};
    return count;
}

void add_pairs(const Noppa& noppa, Sentence& s, int64_t count) {
    noppa.sum_pairs(s.pairs, count, s.vectors, s.pair_dim, s.stride, s.sum);
    const bool asked[PAIR_SUMS] = {true, noppa.has_ordered, noppa.has_product};
    for (int64_t row = 0; row < PAIR_SUMS; ++row)
        for (int64_t m = row * s.stride; asked[row] && m < row * s.stride + s.pair_dim; ++m)
            s.context[m] += double(s.sum[m]);
}

void contextual(const Noppa& noppa, Sentence& s) {
    alignas(64) float scores[TILE * TILE];
    alignas(64) float turned[TILE * TILE];
    const int64_t n = s.tokens, tiles = (n + TILE - 1) / TILE;
    const float scale = float(1.0 / __builtin_sqrt(double(s.pair_dim)));
    const auto tile_at = [&](int64_t i, int64_t j) {
        const auto size = [&](int64_t t) { return n - t * TILE < TILE ? n - t * TILE : TILE; };
        return Tile{i * TILE, size(i), j * TILE, size(j)};
    };
    for (int64_t t = 0; t < tiles * TILE; ++t) {
        s.top[t] = NOTHING;
        s.mass[t] = 0;
        s.share[t] = 0;
    }
    for (int64_t i = 0; i < tiles; ++i)
        for (int64_t j = i; j < tiles; ++j) {
            score(s, scale, noppa.attend_self, tile_at(i, j), scores);
            extend_tile(s, tile_at(i, j), scores, turned);
        }
    for (int64_t t = 0; t < n; ++t) s.share[t] = s.mass[t] > 0 ? float(s.weights[t] / (s.mass[t] * double(n))) : 0;
    for (int64_t i = 0; i < tiles; ++i)
        for (int64_t j = i; j < tiles; ++j) {
            const Tile tile = tile_at(i, j);
            if (tiles > 1) score(s, scale, noppa.attend_self, tile, scores);
            coefficients(s, tile, scores);
            add_pairs(noppa, s, list_pairs(s, tile, scores));
        }
}

// A part of the words themselves, without pairs or positions: their vectors are read again, from the nearest cache.
void raw_part(const Table& table, const int32_t* ids, int64_t tokens, const Sentence& s, int64_t part, float* row) {
    float *vector = s.sum, *first = s.sum + stride_of(s.dim);
    double *sum = s.spare, *squares = s.spare + stride_of(s.dim);
    const double length = double(s.tokens);
    for (int64_t m = 0; m < s.dim; ++m) row[m] = 0;
    for (int64_t m = 0; m < s.dim; ++m) sum[m] = squares[m] = 0;
    int64_t known = 0;
    for (int64_t t = 0; t < tokens; ++t) {
        if (ids[t] == DROPPED) continue;
        read_row(table, ids[t], vector);
        if (!known)
            for (int64_t m = 0; m < s.dim; ++m) row[m] = first[m] = vector[m];
        if (part == PART_MAX) {
            for (int64_t m = 0; m < s.dim; ++m) row[m] = vector[m] > row[m] ? vector[m] : row[m];
        } else if (part == PART_MIN) {
            for (int64_t m = 0; m < s.dim; ++m) row[m] = vector[m] < row[m] ? vector[m] : row[m];
        } else if (part == PART_STD) {
            for (int64_t m = 0; m < s.dim; ++m) {
                const double d = double(vector[m]) - double(first[m]);
                sum[m] += d;
                squares[m] += d * d;
            }
        } else {
            const double angle = 3.14159265358979323846 * double((2 * known + 1) * (part - COSINES)) / (2 * length);
            const double wave = double(s.weights[known]) * __builtin_cos(angle) / length;
            for (int64_t m = 0; m < s.dim; ++m) sum[m] += wave * double(vector[m]);
        }
        ++known;
    }
    if (part == PART_STD && known)
        for (int64_t m = 0; m < s.dim; ++m) {
            const double variance = (squares[m] - sum[m] * sum[m] / length) / length;
            row[m] = variance > 0 ? float(__builtin_sqrt(variance)) : 0.0f;
        }
    if (part > COSINES)
        for (int64_t m = 0; m < s.dim; ++m) row[m] = float(sum[m]);
}

// Equation 9, its parts in the given order: [context ; word] is the paper's.
int64_t Noppa::pool(const int32_t* ids, int64_t tokens, void* scratch, float* row) const {
    Memory memory{aligned(scratch)};
    Sentence s = lay_out(*this, tokens, memory);
    list_known(*this, ids, tokens, s);
    if (!s.tokens) {
        for (int64_t m = 0; m < width; ++m) row[m] = 0;
        return 0;
    }
    if (has_word || has_pairs) gather(*this, s);
    if (has_pairs) {
        for (int64_t m = 0; m < PAIR_SUMS * s.stride; ++m) s.context[m] = 0;
        if (s.tokens > 1) contextual(*this, s);
    }
    for (int64_t p = 0; p < parts.size; ++p) {
        const int64_t part = parts.values[p];
        if (part == PART_WORD) {
            write_word(s, row);
        } else if (is_of_pairs(part)) {
            const double* from = s.context + (part == PART_CONTEXT ? 0 : part == PART_ORDERED ? 1 : 2) * s.stride;
            for (int64_t m = 0; m < s.pair_dim; ++m) row[m] = float(from[m]);
        } else {
            raw_part(table, ids, tokens, s, part, row);
        }
        row += is_of_pairs(part) ? s.pair_dim : s.dim;
    }
    return s.tokens;
}

}  // namespace
}  // namespace noppa

NOPPA_METHOD(Noppa)
