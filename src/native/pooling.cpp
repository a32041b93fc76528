// Weighted means, DCT, VLAWE, S3E and GEM, one sentence at a time. Compiled once per instruction set (CMakeLists.txt).
//
// Sums run in float64 and in the order of the tokens: a sentence gets the same bytes in any company. Plain loops are left
// to the compiler's vectoriser; sums across a vector, which it may not reorder, are written out.
#include "pooling.hpp"

#include "rows.hpp"
#include "simd.hpp"
#include "sizes.hpp"

namespace noppa {
namespace {

constexpr double PI = 3.14159265358979323846;
// A vector whose part outside the others is below this share of its length lies in their span.
constexpr double IN_SPAN = 1e-6;

struct Sentence {
    int64_t tokens;  // known ones
    int32_t* ids;
    float* vector;
    double* sums;      // (slots, dim), and one more row for an average
    double* squares;   // MEAN (dim,)
    double* triangle;  // COVARIANCE
    bool* filled;      // COVARIANCE (slots,)
    // GEM: no window reaches beyond the tokens, and none holds more words than the widest.
    int64_t window, widest;
    // Words (tokens, dim); their dot products with the ones up to 2 windows before; with each direction.
    double *vectors, *products, *shadows, *factor, *solved, *order;
    int64_t *chosen, *basis;
};

Sentence lay_out(const Table& table, const Pooling& p, int64_t tokens, Memory& memory) {
    Sentence s{};
    s.ids = memory.take<int32_t>(tokens);
    s.vector = memory.take<float>(table.dim);
    s.sums = memory.take<double>(times(p.kind == Pooling::GEM ? 1 : p.slots + 1, table.dim));
    if (p.kind == Pooling::MEAN) s.squares = memory.take<double>(table.dim);
    if (p.kind == Pooling::COVARIANCE) {
        s.triangle = memory.take<double>(times(p.slots, p.slots + 1) / 2);
        s.filled = memory.take<bool>(p.slots);
    }
    if (p.kind == Pooling::GEM) {
        s.window = p.window < tokens ? p.window : tokens;
        s.widest = 2 * s.window + 1 < tokens ? 2 * s.window + 1 : tokens;
        s.vectors = memory.take<double>(times(tokens, table.dim));
        s.products = memory.take<double>(times(tokens, s.widest));
        s.shadows = memory.take<double>(times(tokens, p.slots));
        s.factor = memory.take<double>(times(s.widest, s.widest));
        s.solved = memory.take<double>(s.widest);
        s.order = memory.take<double>(p.slots);
        s.chosen = memory.take<int64_t>(p.slots);
        s.basis = memory.take<int64_t>(s.widest);
    }
    return s;
}

size_t scratch_bytes(const Table& table, const Pooling& pooling, int64_t tokens) {
    Memory memory{0};
    lay_out(table, pooling, tokens, memory);
    return memory.room();
}

void clear(double* values, int64_t count) {
    for (int64_t m = 0; m < count; ++m) values[m] = 0;
}

typedef double vd __attribute__((vector_size(WIDTH * 4)));
typedef double vd_anywhere __attribute__((vector_size(WIDTH * 4), aligned(8), may_alias));
constexpr int HALF = WIDTH / 2;  // float64 numbers in a vector

inline vd load(const double* at) { return *reinterpret_cast<const vd_anywhere*>(at); }

inline double across(vd a, vd b) {
    const vd both = a + b;
    double sum = 0;
    for (int lane = 0; lane < HALF; ++lane) sum += both[lane];
    return sum;
}

// The dot products of one vector with ROWS others (ROWS, dim): each has the bytes it has alone.
template <int ROWS>
void dots(const double* a, const double* b, int64_t dim, double* out) {
    vd even[ROWS] = {}, odd[ROWS] = {};
    double rest[ROWS] = {};
    int64_t m = 0;
    for (; m + 2 * HALF <= dim; m += 2 * HALF) {
        const vd first = load(a + m), second = load(a + m + HALF);
        for (int row = 0; row < ROWS; ++row) {
            even[row] += first * load(b + row * dim + m);
            odd[row] += second * load(b + row * dim + m + HALF);
        }
    }
    for (; m < dim; ++m)
        for (int row = 0; row < ROWS; ++row) rest[row] += a[m] * b[row * dim + m];
    for (int row = 0; row < ROWS; ++row) out[row] = across(even[row], odd[row]) + rest[row];
}

double dot(const double* a, const double* b, int64_t dim) {
    double out;
    dots<1>(a, b, dim, &out);
    return out;
}

double total(const double* a, int64_t dim) {
    vd even = {}, odd = {};
    double rest = 0;
    int64_t m = 0;
    for (; m + 2 * HALF <= dim; m += 2 * HALF) {
        even += load(a + m);
        odd += load(a + m + HALF);
    }
    for (; m < dim; ++m) rest += a[m];
    return across(even, odd) + rest;
}

double weight_of(const Pooling& p, int32_t id) { return p.weights ? double(p.weights[id]) : 1.0; }

// Average, TF-IDF, SIF and uSIF: one weighted sum.
void mean(const Table& table, const Pooling& p, Sentence& s, float* row) {
    const int64_t dim = table.dim;
    clear(s.sums, dim);
    clear(s.squares, dim);
    double weights = 0;
    for (int64_t t = 0; t < s.tokens; ++t) {
        read_row(table, s.ids[t], s.vector);
        const double weight = weight_of(p, s.ids[t]);
        weights += weight;
        for (int64_t m = 0; m < dim; ++m) s.sums[m] += weight * double(s.vector[m]);
        if (p.scaled)
            for (int64_t m = 0; m < dim; ++m) s.squares[m] += double(s.vector[m]) * double(s.vector[m]);
    }
    const double divisor = p.divisor == Pooling::TOKENS ? double(s.tokens) : p.divisor == Pooling::WEIGHTS ? weights : 1.0;
    const double scale = divisor > 0 ? 1.0 / divisor : 0.0;
    for (int64_t m = 0; m < dim; ++m) {
        const double norm = p.scaled ? __builtin_sqrt(s.squares[m]) : 1.0;
        row[m] = norm > 0 ? float(s.sums[m] * scale / norm) : 0.0f;
    }
}

// The first coefficients of the orthonormal DCT-II over the words; a sentence shorter than that is padded with zeros.
void dct(const Table& table, const Pooling& p, Sentence& s, float* row) {
    const int64_t dim = table.dim, length = s.tokens > p.slots ? s.tokens : p.slots;
    clear(s.sums, p.slots * dim);
    for (int64_t t = 0; t < s.tokens; ++t) {
        read_row(table, s.ids[t], s.vector);
        for (int64_t k = 0; k < p.slots; ++k) {
            const double scale = __builtin_sqrt((k ? 2.0 : 1.0) / double(length));
            const double wave = scale * __builtin_cos(PI * double((2 * t + 1) * k) / double(2 * length));
            double* sum = s.sums + k * dim;
            for (int64_t m = 0; m < dim; ++m) sum[m] += wave * double(s.vector[m]);
        }
    }
    for (int64_t m = 0; m < p.slots * dim; ++m) row[m] = float(s.sums[m]);
}

// Sums of w (v - c) in the slot of each word; `average` after them is the sum of w v.
int64_t residuals(const Table& table, const Pooling& p, Sentence& s) {
    const int64_t dim = table.dim;
    clear(s.sums, (p.slots + 1) * dim);
    double* average = s.sums + p.slots * dim;
    int64_t counted = 0;
    for (int64_t t = 0; t < s.tokens; ++t) {
        bool repeated = false;
        if (p.published)
            for (int64_t before = 0; before < t && !repeated; ++before) repeated = s.ids[before] == s.ids[t];
        if (repeated) continue;
        ++counted;
        read_row(table, s.ids[t], s.vector);
        const double weight = weight_of(p, s.ids[t]), centre = p.published ? 1.0 : weight;
        const int64_t slot = p.labels[s.ids[t]];
        double* sum = s.sums + slot * dim;
        const float* centroid = p.centroids + slot * dim;
        for (int64_t m = 0; m < dim; ++m) sum[m] += weight * double(s.vector[m]) - centre * double(centroid[m]);
        if (p.average)
            for (int64_t m = 0; m < dim; ++m) average[m] += weight * double(s.vector[m]);
    }
    return counted;
}

// VLAWE: the sums, each to a power with its sign kept, then length one.
void vlawe(const Table& table, const Pooling& p, Sentence& s, float* row) {
    residuals(table, p, s);
    const int64_t width = p.slots * table.dim;
    if (p.power == 0.5f)
        for (int64_t m = 0; m < width; ++m)
            s.sums[m] = __builtin_copysign(__builtin_sqrt(__builtin_fabs(s.sums[m])), s.sums[m]);
    else
        for (int64_t m = 0; m < width; ++m)
            s.sums[m] = __builtin_copysign(__builtin_pow(__builtin_fabs(s.sums[m]), double(p.power)), s.sums[m]);
    const double square = dot(s.sums, s.sums, width);
    const double scale = square > 0 ? 1.0 / __builtin_sqrt(square) : 0.0;
    for (int64_t m = 0; m < width; ++m) row[m] = float(s.sums[m] * scale);
}

// S3E: the covariance of the slots over the dimensions, as its upper triangle of length one.
void s3e(const Table& table, const Pooling& p, Sentence& s, float* row) {
    const int64_t dim = table.dim, counted = residuals(table, p, s);
    if (p.average) {
        const double* average = s.sums + p.slots * dim;
        for (int64_t m = 0; m < dim; ++m) *row++ = float(average[m] / double(counted));
    }
    for (int64_t k = 0; k < p.slots; ++k) s.filled[k] = false;
    for (int64_t t = 0; t < s.tokens; ++t) s.filled[p.labels[s.ids[t]]] = true;
    for (int64_t k = 0; k < p.slots; ++k) {
        if (!s.filled[k]) continue;
        double* sum = s.sums + k * dim;
        const double middle = total(sum, dim) / double(dim);
        for (int64_t m = 0; m < dim; ++m) sum[m] -= middle;
    }
    int64_t cells = 0;
    for (int64_t i = 0; i < p.slots; ++i)
        for (int64_t j = i; j < p.slots; ++j) {
            const bool both = s.filled[i] && s.filled[j];
            const double product = both ? dot(s.sums + i * dim, s.sums + j * dim, dim) : 0.0;
            s.triangle[cells++] = i == j ? product : __builtin_sqrt(2.0) * product;
        }
    const double square = dot(s.triangle, s.triangle, cells);
    const double scale = square > 0 ? 1.0 / __builtin_sqrt(square) : 0.0;
    for (int64_t c = 0; c < cells; ++c) row[c] = float(s.triangle[c] * scale);
}

// GEM. Gram-Schmidt over a window needs no vectors, only their dot products: a Cholesky factor of those gives how far a
// word stands out of its context, and solving with it gives that part's dot product with anything whose dot products
// with the words are known. So the vectors are read once, for their products with each other and with the directions.

double& product(const Sentence& s, int64_t a, int64_t b) {
    return a > b ? s.products[a * s.widest + a - b] : s.products[b * s.widest + b - a];
}

// The context of word i: the words of its window that lie outside the span of the ones before, as rows of a factor.
int64_t factorise(const Sentence& s, int64_t i, int64_t first, int64_t last) {
    int64_t count = 0;
    for (int64_t j = first; j <= last; ++j) {
        const int64_t word = j < i ? j : j < last ? j + 1 : i;  // the word itself comes last
        double* here = s.factor + count * s.widest;
        double rest = product(s, word, word);
        const double whole = rest;
        for (int64_t b = 0; b < count; ++b) {
            const double* there = s.factor + b * s.widest;
            double value = product(s, word, s.basis[b]);
            for (int64_t c = 0; c < b; ++c) value -= here[c] * there[c];
            here[b] = value / there[b];
            rest -= here[b] * here[b];
        }
        if (word == i) {
            here[count] = rest > IN_SPAN * IN_SPAN * whole ? __builtin_sqrt(rest) : 0.0;
            s.basis[count] = i;
            return count;
        }
        if (rest <= IN_SPAN * IN_SPAN * whole) continue;
        here[count] = __builtin_sqrt(rest);
        s.basis[count++] = word;
    }
    return count;
}

// The directions that the sentence's words lie along most, weighted by their singular values; the first `removed` ones.
void choose(const Pooling& p, Sentence& s) {
    for (int64_t d = 0; d < p.slots; ++d) {
        double square = 0;
        for (int64_t t = 0; t < s.tokens; ++t) square += s.shadows[t * p.slots + d] * s.shadows[t * p.slots + d];
        s.order[d] = p.values[d] * __builtin_sqrt(square);
        int64_t at = d;
        for (; at > 0 && s.order[s.chosen[at - 1]] < s.order[d]; --at) s.chosen[at] = s.chosen[at - 1];
        s.chosen[at] = d;
    }
}

// Novelty, significance and uniqueness of word i.
double weigh(const Pooling& p, Sentence& s, int64_t i) {
    const int64_t first = i > s.window ? i - s.window : 0;
    const int64_t last = i + s.window < s.tokens ? i + s.window : s.tokens - 1;
    const int64_t count = factorise(s, i, first, last);
    const double length = __builtin_sqrt(product(s, i, i)), novel = s.factor[count * s.widest + count];
    if (novel <= 0) return 2.0;  // nothing new: e^0 + 0 + e^0
    for (int64_t b = count; b >= 0; --b) {  // the new direction as a sum of the window's words
        double value = b == count ? 1.0 : 0.0;
        for (int64_t c = b + 1; c <= count; ++c) value -= s.factor[c * s.widest + b] * s.solved[c];
        s.solved[b] = value / s.factor[b * s.widest + b];
    }
    double square = 0;
    for (int64_t h = 0; h < p.removed; ++h) {
        double shadow = 0;
        for (int64_t b = 0; b <= count; ++b) shadow += s.solved[b] * s.shadows[s.basis[b] * p.slots + s.chosen[h]];
        square += p.values[s.chosen[h]] * p.values[s.chosen[h]] * shadow * shadow;
    }
    return __builtin_exp(novel / length) + novel / double(last - first + 1) +
           __builtin_exp(-__builtin_sqrt(square) / double(p.removed));
}

void gem(const Table& table, const Pooling& p, Sentence& s, float* row) {
    const int64_t dim = table.dim, n = s.tokens;
    for (int64_t t = 0; t < n; ++t) {
        read_row(table, s.ids[t], s.vector);
        for (int64_t m = 0; m < dim; ++m) s.vectors[t * dim + m] = double(s.vector[m]);
    }
    for (int64_t t = 0; t < n; ++t) {
        for (int64_t other = t > 2 * s.window ? t - 2 * s.window : 0; other <= t; ++other)
            product(s, t, other) = dot(s.vectors + t * dim, s.vectors + other * dim, dim);
        double* shadow = s.shadows + t * p.slots;
        int64_t d = 0;
        for (; d + 4 <= p.slots; d += 4) dots<4>(s.vectors + t * dim, p.directions + d * dim, dim, shadow + d);
        for (; d < p.slots; ++d) shadow[d] = dot(s.vectors + t * dim, p.directions + d * dim, dim);
    }
    choose(p, s);
    clear(s.sums, dim);
    for (int64_t t = 0; t < n; ++t) {
        const double alpha = weigh(p, s, t);
        for (int64_t m = 0; m < dim; ++m) s.sums[m] += alpha * s.vectors[t * dim + m];
    }
    for (int64_t h = 0; h < p.removed; ++h) {
        const double* direction = p.directions + s.chosen[h] * dim;
        const double amount = dot(s.sums, direction, dim);
        for (int64_t m = 0; m < dim; ++m) s.sums[m] -= amount * direction[m];
    }
    for (int64_t m = 0; m < dim; ++m) row[m] = float(s.sums[m]);
}

int64_t pool(const Table& table, const Pooling& pooling, const int32_t* ids, int64_t tokens, void* scratch, float* row) {
    Memory memory{aligned(scratch)};
    Sentence s = lay_out(table, pooling, tokens, memory);
    for (int64_t t = 0; t < tokens; ++t)
        if (ids[t] != DROPPED) s.ids[s.tokens++] = ids[t];
    if (!s.tokens) {
        for (int64_t m = 0; m < pooling.width; ++m) row[m] = 0;
        return 0;
    }
    switch (pooling.kind) {
        case Pooling::MEAN: mean(table, pooling, s, row); break;
        case Pooling::DCT: dct(table, pooling, s, row); break;
        case Pooling::RESIDUALS: vlawe(table, pooling, s, row); break;
        case Pooling::COVARIANCE: s3e(table, pooling, s, row); break;
        default: gem(table, pooling, s, row);
    }
    return s.tokens;
}

}  // namespace

#define NOPPA_JOIN(a, b) a##b
#define NOPPA_NAMED(set) NOPPA_JOIN(pools_, set)

const Pools& NOPPA_NAMED(NOPPA_SET)() {
    static const Pools pools = {scratch_bytes, pool};
    return pools;
}

}  // namespace noppa
