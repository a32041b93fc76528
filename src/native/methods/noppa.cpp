// NoPPA: equations 9 to 13 of the paper.
//
// The log kernel is symmetric and zero for a word with itself, so the contextual half of a sentence is one pass over
// its n(n-1)/2 pairs:
//     1/n sum_i w_i sum_j A_ij K(v'_i - v'_j)  =  sum_{i<j} c_ij K(v'_i - v'_j),   c_ij = (w_i A_ij + w_j A_ji) / n.
// Scores v'_i·v'_j are symmetric too. Pairs are taken in tiles of TILE x TILE tokens: a sentence that fits one tile keeps
// its scores, a longer one computes them twice (for the softmax, then for the coefficients) and never holds an n x n
// matrix. A tile is summed in float32, tiles in float64.
#include "pooling/arguments.hpp"
#include "pooling/method.hpp"
#include "pooling/positions.hpp"
#include "pooling/rows.hpp"
#include "pooling/simd.hpp"
#include "sizes.hpp"

namespace noppa {
namespace {

constexpr int64_t TILE = 64;
constexpr int64_t SCORED = 4;  // tokens that are scored together

struct Noppa final : Method {
    const float* weights;    // (words + 1,) or null
    const float* positions;  // (longest, padded dim) or null
    int64_t kernel;
    bool attend_self;
    bool dropped_take_position;
    Vector<int64_t> parts;  // what a row consists of, in order
    bool has_word = false, has_pairs = false, has_signed_pairs = false;

    Noppa(const Table& table, const Arguments& arguments);
    double cost(double tokens) const override { return double(table.dim) * tokens * (1.0 + 0.15 * tokens); }
    size_t scratch_bytes(int64_t tokens) const override;
    int64_t pool(const int32_t* ids, int64_t tokens, void* scratch, float* row) const override;
};

Vector<int64_t> parts_of(const Arguments& arguments) {
    return arguments.integers("parts", PART_CONTEXT, COSINES + MOST_COSINES);
}

Noppa::Noppa(const Table& table, const Arguments& arguments)
    : Method(table, times(parts_of(arguments).size, table.dim)),
      weights(weights_of(table, arguments)),
      positions(nullptr),
      kernel(arguments.integer("kernel", PAIR_KERNEL_LOG2, PAIR_KERNEL_SQUARE)),
      attend_self(arguments.flag("attend_self")),
      dropped_take_position(arguments.flag("dropped_take_position")),
      parts(parts_of(arguments)) {
    if (!arguments.is_none("positions")) {
        const auto matrix = arguments.float_matrix("positions", Arguments::ANY, padded(table.dim));
        positions = matrix.values;
        longest = matrix.rows;
    }
    for (int64_t p = 0; p < parts.size; ++p) {
        const int64_t part = parts.values[p];
        if (part == COSINES) arguments.refuse("parts", "has a part that does not exist");
        has_word |= part == PART_WORD;
        has_signed_pairs |= part == PART_ORDERED || part == PART_PRODUCT;
        has_pairs |= part == PART_CONTEXT || part == PART_ORDERED || part == PART_PRODUCT;
    }
}

// Floats from one token's vector to the next: an odd number of cache lines, so that the same block of many tokens never
// crowds one set of the cache.
int64_t stride_of(int64_t dim) { return (padded(dim) / 16 | 1) * 16; }

// Two tokens, as places in the vectors of their sentence, and the coefficient of their kernel.
struct Pair {
    int64_t from, to;
    float coefficient;
};

// Scratch of one sentence. vectors is (tokens up to a multiple of SCORED, stride), zero from `dim` on.
struct Sentence {
    int64_t tokens, dim, stride;
    float *vectors, *weights, *top, *share, *sum;
    double *mass, *context, *word, *spare;
    Pair* pairs;
};

// context and sum hold three rows: the contextual half, and its ordered and product variants.
constexpr int64_t PAIR_PARTS = 3;

Sentence lay_out(int64_t tokens, int64_t dim, Memory& memory) {
    const int64_t stride = stride_of(dim), rows = rounded_up(tokens, TILE);
    const int64_t pairs = tokens <= TILE ? tokens * tokens / 2 + 2 : TILE * TILE + 2;
    Sentence s;
    s.tokens = tokens;
    s.dim = dim;
    s.stride = stride;
    s.vectors = memory.take<float>(times(rounded_up(tokens, SCORED), stride));
    s.weights = memory.take<float>(rows);
    s.top = memory.take<float>(rows);
    s.share = memory.take<float>(rows);
    s.sum = memory.take<float>(PAIR_PARTS * stride);
    s.mass = memory.take<double>(rows);
    s.context = memory.take<double>(PAIR_PARTS * stride);
    s.spare = memory.take<double>(2 * stride);
    s.word = memory.take<double>(stride);
    s.pairs = memory.take<Pair>(pairs);
    return s;
}

size_t Noppa::scratch_bytes(int64_t tokens) const {
    Memory memory{0};
    lay_out(tokens, table.dim, memory);
    return memory.room();
}

// Equation 10: known words with their positions into s.vectors; their weights, and the word half, on the way.
int64_t gather(const Noppa& noppa, const int32_t* ids, int64_t tokens, Sentence& s) {
    const int64_t wide = padded(s.dim);
    for (int64_t m = 0; m < wide; ++m) s.sum[m] = 0;
    for (int64_t m = 0; m < wide; ++m) s.word[m] = 0;
    const auto flush = [&] {
        for (int64_t m = 0; m < wide; ++m) {
            s.word[m] += double(s.sum[m]);
            s.sum[m] = 0;
        }
    };
    int64_t known = 0, position = 0;
    for (int64_t t = 0; t < tokens; ++t) {
        if (ids[t] == DROPPED) {
            position += noppa.dropped_take_position;
            continue;
        }
        float* vector = s.vectors + known * s.stride;
        read_row(noppa.table, ids[t], vector);
        for (int64_t m = s.dim; m < wide; ++m) vector[m] = 0;
        const float weight = noppa.weights ? noppa.weights[ids[t]] : 1.0f;
        s.weights[known] = weight;
        if (noppa.has_word)
            for (int64_t m = 0; m < wide; m += WIDTH) store(s.sum + m, load(s.sum + m) + weight * load(vector + m));
        if (noppa.has_pairs && noppa.positions)
            for (int64_t m = 0; m < wide; m += WIDTH)
                store(vector + m, load(vector + m) + load(noppa.positions + position * wide + m));
        ++known;
        ++position;
        if (known % TILE == 0) flush();
    }
    flush();
    for (int64_t t = known; t < rounded_up(known, SCORED); ++t)
        for (int64_t m = 0; m < wide; ++m) s.vectors[t * s.stride + m] = 0;
    return s.tokens = known;
}

// Scores of 2 tokens from i on with 4 tokens from j on.
void score_some(const Sentence& s, float scale, int64_t i, int64_t j, float* out) {
    vf total[2][4] = {};
    for (int64_t m = 0; m < s.dim; m += WIDTH) {
        const vf here[2] = {load(s.vectors + i * s.stride + m), load(s.vectors + (i + 1) * s.stride + m)};
        for (int c = 0; c < 4; ++c) {
            const vf there = load(s.vectors + (j + c) * s.stride + m);
            for (int r = 0; r < 2; ++r) total[r][c] += here[r] * there;
        }
    }
    for (int r = 0; r < 2; ++r)
        for (int c = 0; c < 4; ++c) out[r * TILE + c] = sum(total[r][c]) * scale;
}

struct Tile {
    int64_t i, rows, j, columns;  // tokens [i, i + rows) against [j, j + columns)
    bool diagonal() const { return i == j; }
};

// Equation 13 before its softmax: scores (TILE, TILE) of a tile, both triangles of a diagonal one. Cells past the
// tile's own are the lowest float, which a softmax makes nothing of.
constexpr float NOTHING = -3.4e38f;

void score(const Sentence& s, float scale, bool attend_self, const Tile& tile, float* scores) {
    int64_t r = 0;
    for (; r < tile.rows; r += 2)
        for (int64_t c = tile.diagonal() ? r / 4 * 4 : 0; c < tile.columns; c += 4)
            score_some(s, scale, tile.i + r, tile.j + c, scores + r * TILE + c);
    for (r = 0; r < tile.rows; ++r)
        for (int64_t c = tile.columns; c < rounded_up(tile.columns, WIDTH); ++c) scores[r * TILE + c] = NOTHING;
    if (!tile.diagonal()) return;
    for (r = 0; r < tile.rows; ++r) {
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

// Equation 12's kernels, on differences of positional vectors.
struct Log2Pair {
    static constexpr float scale = 1.0f / LOG2_SCALE;
    template <int COUNT>
    static void of(vf (&d)[COUNT]) {
        for (int q = 0; q < COUNT; ++q) d[q] = d[q] * d[q] + 1.0f;
        scaled_log2(d);
    }
};
struct AbsolutePair {
    static constexpr float scale = 1.0f;
    template <int COUNT>
    static void of(vf (&d)[COUNT]) {
        for (int q = 0; q < COUNT; ++q) d[q] = larger(d[q], -d[q]);
    }
};
struct SquarePair {
    static constexpr float scale = 1.0f;
    template <int COUNT>
    static void of(vf (&d)[COUNT]) {
        for (int q = 0; q < COUNT; ++q) d[q] *= d[q];
    }
};

// The pairs of a tile in a row, an even number of them: the last may be a token with itself, which adds nothing.
int64_t list_pairs(const Sentence& s, const Tile& tile, const float* c) {
    int64_t count = 0;
    for (int64_t r = 0; r < tile.rows; ++r)
        for (int64_t q = tile.diagonal() ? r + 1 : 0; q < tile.columns; ++q)
            s.pairs[count++] = {(tile.i + r) * s.stride, (tile.j + q) * s.stride, c[r * TILE + q]};
    if (count % 2) s.pairs[count++] = {0, 0, 0.0f};
    return count;
}

// Sums the kernels of the pairs over VECTORS vectors of every token, two pairs in step. MORE gives two parts more:
// the kernel with the sign of the difference, later word minus earlier one, and the product of the two words.
template <class Kernel, int VECTORS, bool MORE>
void pair_block(const Pair* pairs, int64_t count, const float* block, int64_t stride, float* out) {
    vf total[VECTORS] = {}, ordered[VECTORS] = {}, product[VECTORS] = {};
    for (const Pair* pair = pairs; pair < pairs + count; pair += 2) {
        vf d[2 * VECTORS];
        vi sign[2 * VECTORS];
        for (int q = 0; q < 2; ++q)
            for (int v = 0; v < VECTORS; ++v) {
                const vf from = load(block + pair[q].from + v * WIDTH), to = load(block + pair[q].to + v * WIDTH);
                d[q * VECTORS + v] = from - to;
                if (MORE) {
                    sign[q * VECTORS + v] = reinterpret_cast<vi>(to - from) & int32_t(0x80000000u);
                    product[v] += pair[q].coefficient * (from * to);
                }
            }
        Kernel::of(d);
        for (int q = 0; q < 2; ++q)
            for (int v = 0; v < VECTORS; ++v) {
                total[v] += pair[q].coefficient * d[q * VECTORS + v];
                if (MORE) {
                    const vi bits = reinterpret_cast<vi>(d[q * VECTORS + v]) ^ sign[q * VECTORS + v];
                    ordered[v] += pair[q].coefficient * reinterpret_cast<vf>(bits);
                }
            }
    }
    for (int v = 0; v < VECTORS; ++v) {
        store(out + v * WIDTH, total[v] * Kernel::scale);
        if (MORE) {
            store(out + stride + v * WIDTH, ordered[v] * Kernel::scale);
            store(out + 2 * stride + v * WIDTH, product[v]);
        }
    }
}

template <class Kernel, bool MORE>
void add_pairs(Sentence& s, int64_t count) {
    int64_t m = 0;
    for (; m + WIDTH < s.dim; m += BLOCK)
        pair_block<Kernel, 2, MORE>(s.pairs, count, s.vectors + m, s.stride, s.sum + m);
    if (m < s.dim) pair_block<Kernel, 1, MORE>(s.pairs, count, s.vectors + m, s.stride, s.sum + m);
    for (int64_t part = 0; part < (MORE ? PAIR_PARTS : 1); ++part)
        for (m = part * s.stride; m < part * s.stride + s.dim; ++m) s.context[m] += double(s.sum[m]);
}

template <bool MORE>
void contextual(const Noppa& noppa, Sentence& s) {
    alignas(64) float scores[TILE * TILE];
    alignas(64) float turned[TILE * TILE];
    const int64_t n = s.tokens, tiles = (n + TILE - 1) / TILE;
    const float scale = float(1.0 / __builtin_sqrt(double(s.dim)));
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
            const int64_t count = list_pairs(s, tile, scores);
            switch (noppa.kernel) {
                case PAIR_KERNEL_LOG2: add_pairs<Log2Pair, MORE>(s, count); break;
                case PAIR_KERNEL_ABS: add_pairs<AbsolutePair, MORE>(s, count); break;
                default: add_pairs<SquarePair, MORE>(s, count);
            }
        }
}

// A part of the words themselves, without pairs or positions: their vectors are read again, from the nearest cache.
void raw_part(const Table& table, const int32_t* ids, int64_t tokens, const Sentence& s, int64_t part, float* row) {
    float *vector = s.sum, *first = s.sum + s.stride;
    double *sum = s.spare, *squares = s.spare + s.stride;
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
    Sentence s = lay_out(tokens, table.dim, memory);
    const int64_t known = gather(*this, ids, tokens, s);
    if (has_pairs) {
        for (int64_t m = 0; m < PAIR_PARTS * s.stride; ++m) s.context[m] = 0;
        if (known > 1) has_signed_pairs ? contextual<true>(*this, s) : contextual<false>(*this, s);
    }
    const double length = known ? double(known) : 1.0;
    for (int64_t p = 0; p < parts.size; ++p, row += s.dim) {
        const int64_t part = parts.values[p];
        if (part == PART_WORD) {
            for (int64_t m = 0; m < s.dim; ++m) row[m] = float(s.word[m] / length);
        } else if (part == PART_CONTEXT || part == PART_ORDERED || part == PART_PRODUCT) {
            const double* from = s.context + (part == PART_CONTEXT ? 0 : part == PART_ORDERED ? 1 : 2) * s.stride;
            for (int64_t m = 0; m < s.dim; ++m) row[m] = float(from[m]);
        } else {
            raw_part(table, ids, tokens, s, part, row);
        }
    }
    return known;
}

}  // namespace
}  // namespace noppa

NOPPA_METHOD(Noppa)
