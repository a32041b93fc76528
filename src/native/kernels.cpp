// Equations 9 to 13 and 15 of the paper, one sentence at a time. Compiled once per instruction set (CMakeLists.txt).
//
// The log kernel is symmetric and zero for a word with itself, so the contextual half of a sentence is one pass over
// its n(n-1)/2 pairs:
//     1/n sum_i w_i sum_j A_ij K(v'_i - v'_j)  =  sum_{i<j} c_ij K(v'_i - v'_j),   c_ij = (w_i A_ij + w_j A_ji) / n.
// Scores v'_i·v'_j are symmetric too. Pairs are taken in tiles of TILE x TILE tokens: a sentence that fits one tile keeps
// its scores, a longer one computes them twice (for the softmax, then for the coefficients) and never holds an n x n
// matrix. A tile is summed in float32, tiles in float64.
#include "kernels.hpp"

#include "simd.hpp"

namespace noppa {
namespace {

constexpr int64_t TILE = 64;
constexpr int64_t BLOCK = 2 * WIDTH;  // floats of one token that lie together

inline int64_t padded(int64_t dim) { return (dim + BLOCK - 1) / BLOCK * BLOCK; }

// Scratch of one sentence. vectors is laid out (blocks, tokens, BLOCK), so that one block of a tile is contiguous.
struct Sentence {
    int64_t tokens, dim, blocks;
    float *vectors, *weights, *top, *share, *row;
    double *mass, *context, *word;
};

size_t lay_out(int64_t tokens, int64_t dim, char* base, Sentence* s) {
    size_t used = 0;
    auto take = [&](int64_t count, size_t size) {
        char* at = base + used;
        used += (size_t(count) * size + 63) / 64 * 64;
        return at;
    };
    const int64_t wide = padded(dim), rows = (tokens + TILE - 1) / TILE * TILE;
    Sentence here;
    here.vectors = reinterpret_cast<float*>(take(tokens * wide, 4));
    here.weights = reinterpret_cast<float*>(take(rows, 4));
    here.top = reinterpret_cast<float*>(take(rows, 4));
    here.share = reinterpret_cast<float*>(take(rows, 4));
    here.row = reinterpret_cast<float*>(take(wide, 4));
    here.mass = reinterpret_cast<double*>(take(rows, 8));
    here.context = reinterpret_cast<double*>(take(wide, 8));
    here.word = reinterpret_cast<double*>(take(wide, 8));
    if (s) *s = here;
    return used + 64;
}

size_t scratch_bytes(int64_t tokens, int64_t dim) { return lay_out(tokens, dim, nullptr, nullptr); }

// A row of the table as float32.
void read_row(const Table& table, int32_t id, float* row) {
    const int64_t dim = table.dim;
    if (id >= table.words) {
        for (int64_t m = 0; m < dim; ++m) row[m] = 0;
    } else if (table.storage == FLOAT32) {
        const float* from = static_cast<const float*>(table.rows) + int64_t(id) * dim;
        for (int64_t m = 0; m < dim; ++m) row[m] = from[m];
    } else if (table.storage == INT8) {
        const int8_t* from = static_cast<const int8_t*>(table.rows) + int64_t(id) * dim;
        const float scale = table.scales[id];
        for (int64_t m = 0; m < dim; ++m) row[m] = scale * float(from[m]);
    } else {
        // A half's bits, shifted into a float's place, are the value times 2^-112, subnormals included.
        const uint16_t* from = static_cast<const uint16_t*>(table.rows) + int64_t(id) * dim;
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

// Equation 10: known words with their positions into s.vectors; their weights, and the word half, on the way.
int64_t gather(const Table& table, const Noppa& noppa, const int32_t* ids, int64_t tokens, Sentence& s) {
    const int64_t dim = s.dim, wide = s.blocks * BLOCK;
    for (int64_t m = dim; m < wide; ++m) s.row[m] = 0;
    for (int64_t m = 0; m < wide; ++m) s.word[m] = 0;
    int64_t known = 0;
    for (int64_t t = 0; t < tokens; ++t) known += ids[t] != DROPPED;
    s.tokens = known;
    int64_t at = 0, position = 0;
    for (int64_t t = 0; t < tokens; ++t) {
        if (ids[t] == DROPPED) {
            position += noppa.dropped_take_position;
            continue;
        }
        read_row(table, ids[t], s.row);
        const float weight = noppa.weights ? noppa.weights[ids[t]] : 1.0f;
        s.weights[at] = weight;
        if (noppa.word)
            for (int64_t m = 0; m < wide; ++m) s.word[m] += double(weight * s.row[m]);
        if (noppa.context) {
            if (noppa.positions) {
                const float* place = noppa.positions + position * dim;
                for (int64_t m = 0; m < dim; ++m) s.row[m] += place[m];
            }
            for (int64_t b = 0; b < s.blocks; ++b)
                for (int64_t m = 0; m < BLOCK; m += WIDTH)
                    store(s.vectors + (b * known + at) * BLOCK + m, load(s.row + b * BLOCK + m));
        }
        ++at;
        ++position;
    }
    return known;
}

// Scores of token i with COUNT tokens from j on.
template <int COUNT>
void score_some(const Sentence& s, float scale, int64_t i, int64_t j, float* out) {
    vf low[COUNT] = {}, high[COUNT] = {};
    for (int64_t b = 0; b < s.blocks; ++b) {
        const float* block = s.vectors + b * s.tokens * BLOCK;
        const vf a0 = load(block + i * BLOCK), a1 = load(block + i * BLOCK + WIDTH);
        for (int q = 0; q < COUNT; ++q) {
            low[q] += a0 * load(block + (j + q) * BLOCK);
            high[q] += a1 * load(block + (j + q) * BLOCK + WIDTH);
        }
    }
    for (int q = 0; q < COUNT; ++q) out[q] = sum(low[q] + high[q]) * scale;
}

struct Tile {
    int64_t i, rows, j, columns;  // tokens [i, i + rows) against [j, j + columns)
    bool diagonal() const { return i == j; }
};

// Equation 13 before its softmax: scores (TILE, TILE) of a tile, both triangles of a diagonal one. Cells past the
// tile's own are the lowest float, which a softmax makes nothing of.
constexpr float NOTHING = -3.4e38f;

void score(const Sentence& s, float scale, bool attend_self, const Tile& tile, float* scores) {
    for (int64_t cell = 0; cell < tile.rows * TILE; ++cell) scores[cell] = NOTHING;
    for (int64_t r = 0; r < tile.rows; ++r) {
        float* row = scores + r * TILE;
        int64_t c = tile.diagonal() ? r : 0;
        for (; c + 4 <= tile.columns; c += 4) score_some<4>(s, scale, tile.i + r, tile.j + c, row + c);
        for (; c < tile.columns; ++c) score_some<1>(s, scale, tile.i + r, tile.j + c, row + c);
    }
    if (!tile.diagonal()) return;
    for (int64_t r = 0; r < tile.rows; ++r) {
        for (int64_t c = 0; c < r; ++c) scores[r * TILE + c] = scores[c * TILE + r];
        if (!attend_self) scores[r * TILE + r] = NOTHING;
    }
}

// Softmax of row `token` goes on over `columns` more scores: its maximum and its mass relative to that.
void extend(Sentence& s, int64_t token, const float* scores, int64_t columns) {
    vf high = all(s.top[token]);
    for (int64_t c = 0; c < columns; c += WIDTH) high = larger(high, load(scores + c));
    float lanes[WIDTH];
    store(lanes, high);
    float top = lanes[0];
    for (int lane = 1; lane < WIDTH; ++lane) top = lanes[lane] > top ? lanes[lane] : top;
    if (top == NOTHING) return;
    vf mass = {};
    for (int64_t c = 0; c < columns; c += WIDTH) {
        const vf cell = load(scores + c);
        mass += cell == NOTHING ? vf{} : exp_of(cell - top);
    }
    if (s.top[token] != top) {
        s.mass[token] *= s.mass[token] > 0 ? double(exp_of(all(s.top[token] - top))[0]) : 0.0;
        s.top[token] = top;
    }
    s.mass[token] += double(sum(mass));
}

void extend_tile(Sentence& s, const Tile& tile, const float* scores, float* turned) {
    const int64_t wide = (tile.columns + WIDTH - 1) / WIDTH * WIDTH;
    for (int64_t r = 0; r < tile.rows; ++r) extend(s, tile.i + r, scores + r * TILE, wide);
    if (tile.diagonal()) return;
    const int64_t tall = (tile.rows + WIDTH - 1) / WIDTH * WIDTH;
    for (int64_t c = 0; c < tile.columns; ++c) {
        for (int64_t r = 0; r < tall; ++r) turned[r] = r < tile.rows ? scores[r * TILE + c] : NOTHING;
        extend(s, tile.j + c, turned, tall);
    }
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

// Equation 12's kernels, on a difference of two positional vectors.
struct Log2Pair {
    static constexpr float scale = 1.0f / LOG2_SCALE;
    static vf of(vf difference) { return log2_of_1_plus(difference * difference); }
};
struct AbsolutePair {
    static constexpr float scale = 1.0f;
    static vf of(vf difference) { return larger(difference, -difference); }
};
struct SquarePair {
    static constexpr float scale = 1.0f;
    static vf of(vf difference) { return difference * difference; }
};

// Adds the tile's pairs to s.context, PARTS vectors of every token at a time.
template <class Pair, int PARTS>
void pair_block(const Tile& tile, const float* from, const float* to, const float* c, double* out) {
    vf total[PARTS] = {};
    for (int64_t r = 0; r < tile.rows; ++r) {
        vf here[PARTS];
        for (int p = 0; p < PARTS; ++p) here[p] = load(from + r * BLOCK + p * WIDTH);
        for (int64_t q = tile.diagonal() ? r + 1 : 0; q < tile.columns; ++q) {
            const vf coefficient = all(c[r * TILE + q]);
            for (int p = 0; p < PARTS; ++p)
                total[p] += coefficient * Pair::of(here[p] - load(to + q * BLOCK + p * WIDTH));
        }
    }
    for (int p = 0; p < PARTS; ++p)
        for (int lane = 0; lane < WIDTH; ++lane) out[p * WIDTH + lane] += double(total[p][lane] * Pair::scale);
}

template <class Pair>
void pairs(Sentence& s, const Tile& tile, const float* c) {
    for (int64_t b = 0; b < s.blocks; ++b) {
        const float* block = s.vectors + b * s.tokens * BLOCK;
        const float *from = block + tile.i * BLOCK, *to = block + tile.j * BLOCK;
        double* out = s.context + b * BLOCK;
        if (b * BLOCK + WIDTH < s.dim)
            pair_block<Pair, 2>(tile, from, to, c, out);
        else
            pair_block<Pair, 1>(tile, from, to, c, out);
    }
}

void contextual(const Noppa& noppa, Sentence& s) {
    alignas(64) float scores[TILE * TILE];
    alignas(64) float turned[TILE];
    const int64_t n = s.tokens, tiles = (n + TILE - 1) / TILE;
    const float scale = float(1.0 / __builtin_sqrt(double(s.dim)));
    const auto tile_at = [&](int64_t i, int64_t j) {
        const auto size = [&](int64_t t) { return n - t * TILE < TILE ? n - t * TILE : TILE; };
        return Tile{i * TILE, size(i), j * TILE, size(j)};
    };
    for (int64_t t = 0; t < tiles * TILE; ++t) {
        s.top[t] = t < n ? NOTHING : 0;
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
            switch (noppa.kernel) {
                case LOG2: pairs<Log2Pair>(s, tile, scores); break;
                case ABSOLUTE: pairs<AbsolutePair>(s, tile, scores); break;
                default: pairs<SquarePair>(s, tile, scores);
            }
        }
}

// Equation 9 with the order [context ; word].
int64_t pool(const Table& table, const Noppa& noppa, const int32_t* ids, int64_t tokens, void* scratch, float* row) {
    Sentence s;
    const uintptr_t start = (reinterpret_cast<uintptr_t>(scratch) + 63) / 64 * 64;
    lay_out(tokens, table.dim, reinterpret_cast<char*>(start), &s);
    s.dim = table.dim;
    s.blocks = padded(s.dim) / BLOCK;
    const int64_t known = gather(table, noppa, ids, tokens, s);
    if (noppa.context) {
        for (int64_t m = 0; m < s.blocks * BLOCK; ++m) s.context[m] = 0;
        if (known > 1) contextual(noppa, s);
        for (int64_t m = 0; m < s.dim; ++m) *row++ = float(s.context[m]);
    }
    if (noppa.word) {
        const double length = known ? double(known) : 1.0;
        for (int64_t m = 0; m < s.dim; ++m) *row++ = float(s.word[m] / length);
    }
    return known;
}

float dot(const float* a, const float* b, int64_t count) {
    vf lanes[4] = {};
    int64_t m = 0;
    for (; m + 4 * WIDTH <= count; m += 4 * WIDTH)
        for (int p = 0; p < 4; ++p) lanes[p] += load(a + m + p * WIDTH) * load(b + m + p * WIDTH);
    float rest = 0;
    for (; m < count; ++m) rest += a[m] * b[m];
    return sum((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + rest;
}

void add_scaled(float scale, const float* from, float* to, int64_t count) {
    int64_t m = 0;
    for (; m + WIDTH <= count; m += WIDTH) store(to + m, load(to + m) + scale * load(from + m));
    for (; m < count; ++m) to[m] += scale * from[m];
}

// ROWS rows share each load of the matrix; every output sums over the input in the same order, alone or in company.
template <int ROWS>
void map_rows(const Step& step, const float* rows, float* out) {
    constexpr int64_t SPAN = 2 * WIDTH;
    int64_t c = 0;
    for (; c + SPAN <= step.out; c += SPAN) {
        vf total[ROWS][2];
        for (int r = 0; r < ROWS; ++r)
            for (int p = 0; p < 2; ++p) total[r][p] = load(step.bias + c + p * WIDTH);
        for (int64_t m = 0; m < step.in; ++m) {
            const vf w0 = load(step.left + m * step.out + c), w1 = load(step.left + m * step.out + c + WIDTH);
            for (int r = 0; r < ROWS; ++r) {
                const vf x = all(rows[r * step.in + m]);
                total[r][0] += x * w0;
                total[r][1] += x * w1;
            }
        }
        for (int r = 0; r < ROWS; ++r)
            for (int p = 0; p < 2; ++p) store(out + r * step.out + c + p * WIDTH, total[r][p]);
    }
    for (; c < step.out; ++c)
        for (int r = 0; r < ROWS; ++r) {
            float total = step.bias[c];
            for (int64_t m = 0; m < step.in; ++m) total += rows[r * step.in + m] * step.left[m * step.out + c];
            out[r * step.out + c] = total;
        }
}

// A sum of squares in float64, so that neither tiny nor huge rows lose their length.
void normalise(const float* row, int64_t dim, float* out) {
    double square = 0;
    for (int64_t m = 0; m < dim; ++m) square += double(row[m]) * double(row[m]);
    const double scale = square > 0 ? 1.0 / __builtin_sqrt(square) : 0.0;
    for (int64_t m = 0; m < dim; ++m) out[m] = float(double(row[m]) * scale);
}

void apply(const Step& step, const float* rows, int64_t count, float* out) {
    if (step.kind == Step::MAP) {
        int64_t r = 0;
        for (; r + 4 <= count; r += 4) map_rows<4>(step, rows + r * step.in, out + r * step.out);
        for (; r < count; ++r) map_rows<1>(step, rows + r * step.in, out + r * step.out);
        return;
    }
    for (int64_t r = 0; r < count; ++r) {
        const float* row = rows + r * step.in;
        float* to = out + r * step.in;
        if (step.kind == Step::NORMALISE) {
            normalise(row, step.in, to);
            continue;
        }
        for (int64_t m = 0; m < step.in; ++m) to[m] = row[m];
        for (int64_t q = 0; q < step.inner; ++q) {
            const float amount = dot(row, step.left + q * step.in, step.in) - step.bias[q];
            add_scaled(-amount, step.right + q * step.in, to, step.in);
        }
    }
}

}  // namespace

#define NOPPA_JOIN(a, b) a##b
#define NOPPA_NAMED(set) NOPPA_JOIN(kernels_, set)
#define NOPPA_TEXT(set) #set
#define NOPPA_NAME(set) NOPPA_TEXT(set)

const Kernels& NOPPA_NAMED(NOPPA_SET)() {
    static const Kernels kernels = {NOPPA_NAME(NOPPA_SET), scratch_bytes, pool, apply};
    return kernels;
}

}  // namespace noppa
