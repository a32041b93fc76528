// GEM. Gram-Schmidt over a window needs no vectors, only their dot products: a Cholesky factor of those gives how far a
// word stands out of its context, and solving with it gives that part's dot product with anything whose dot products
// with the words are known. So the vectors are read once, for their products with each other and with the directions.
#include "pooling/known_words.hpp"
#include "pooling/sums.hpp"

namespace noppa {
namespace {

struct Scratch {
    // No window reaches beyond the tokens, and none holds more words than the widest.
    int64_t window, widest;
    float* vector;
    double* sum;       // (dim,)
    double* vectors;   // (tokens, dim)
    double* products;  // (tokens, widest): dot products with the words up to two windows before
    double* shadows;   // (tokens, directions): dot products with each direction
    double* factor;    // (widest, widest)
    double* solved;    // (widest,)
    double* order;     // (directions,)
    int64_t* chosen;   // (directions,)
    int64_t* basis;    // (widest,)

    double& product(int64_t a, int64_t b) const {
        return a > b ? products[a * widest + a - b] : products[b * widest + b - a];
    }

    // The context of word i: the words of its window that lie outside the span of the ones before, as rows of a factor.
    int64_t factorize(int64_t i, int64_t first, int64_t last) const {
        int64_t count = 0;
        for (int64_t j = first; j <= last; ++j) {
            const int64_t word = j < i ? j : j < last ? j + 1 : i;  // the word itself comes last
            double* here = factor + count * widest;
            double rest = product(word, word);
            const double whole = rest;
            for (int64_t b = 0; b < count; ++b) {
                const double* there = factor + b * widest;
                double value = product(word, basis[b]);
                for (int64_t c = 0; c < b; ++c) value -= here[c] * there[c];
                here[b] = value / there[b];
                rest -= here[b] * here[b];
            }
            if (word == i) {
                here[count] = rest > IN_SPAN * IN_SPAN * whole ? __builtin_sqrt(rest) : 0.0;
                basis[count] = i;
                return count;
            }
            if (rest <= IN_SPAN * IN_SPAN * whole) continue;
            here[count] = __builtin_sqrt(rest);
            basis[count++] = word;
        }
        return count;
    }
};

struct Gem final : OfKnownWords<Gem> {
    const double *directions, *values;  // (count, dim) and (count,)
    int64_t count;
    int64_t window;   // words on either side
    int64_t removed;  // directions taken out of each sentence

    Gem(const Table& table, const Arguments& arguments) : OfKnownWords(table, table.dim) {
        const auto matrix = arguments.double_matrix("directions", Arguments::ANY, table.dim);
        directions = matrix.values;
        count = matrix.rows;
        values = arguments.doubles("values", count).values;
        window = arguments.integer("window", 1, INT64_MAX);
        removed = arguments.integer("removed", 1, count);
    }

    double cost(double tokens) const override { return 0.3 * double(table.dim) * tokens * (double(count) + tokens); }

    Scratch lay_out(Memory& memory, int64_t tokens) const {
        Scratch s{};
        s.window = window < tokens ? window : tokens;
        s.widest = 2 * s.window + 1 < tokens ? 2 * s.window + 1 : tokens;
        s.vector = memory.take<float>(table.dim);
        s.sum = memory.take<double>(table.dim);
        s.vectors = memory.take<double>(times(tokens, table.dim));
        s.products = memory.take<double>(times(tokens, s.widest));
        s.shadows = memory.take<double>(times(tokens, count));
        s.factor = memory.take<double>(times(s.widest, s.widest));
        s.solved = memory.take<double>(s.widest);
        s.order = memory.take<double>(count);
        s.chosen = memory.take<int64_t>(count);
        s.basis = memory.take<int64_t>(s.widest);
        return s;
    }

    // Sorts the directions by how far the sentence's words lie along them, weighted by their singular values.
    void choose(Scratch& s, int64_t tokens) const {
        for (int64_t d = 0; d < count; ++d) {
            double square = 0;
            for (int64_t t = 0; t < tokens; ++t) square += s.shadows[t * count + d] * s.shadows[t * count + d];
            s.order[d] = values[d] * __builtin_sqrt(square);
            int64_t at = d;
            for (; at > 0 && s.order[s.chosen[at - 1]] < s.order[d]; --at) s.chosen[at] = s.chosen[at - 1];
            s.chosen[at] = d;
        }
    }

    // Novelty, significance and uniqueness of word i.
    double weigh(Scratch& s, int64_t tokens, int64_t i) const {
        const int64_t first = i > s.window ? i - s.window : 0;
        const int64_t last = i + s.window < tokens ? i + s.window : tokens - 1;
        const int64_t rank = s.factorize(i, first, last);
        const double length = __builtin_sqrt(s.product(i, i)), novel = s.factor[rank * s.widest + rank];
        if (novel <= 0) return 2.0;            // nothing new: e^0 + 0 + e^0
        for (int64_t b = rank; b >= 0; --b) {  // the new direction as a sum of the window's words
            double value = b == rank ? 1.0 : 0.0;
            for (int64_t c = b + 1; c <= rank; ++c) value -= s.factor[c * s.widest + b] * s.solved[c];
            s.solved[b] = value / s.factor[b * s.widest + b];
        }
        double square = 0;
        for (int64_t h = 0; h < removed; ++h) {
            double shadow = 0;
            for (int64_t b = 0; b <= rank; ++b) shadow += s.solved[b] * s.shadows[s.basis[b] * count + s.chosen[h]];
            square += values[s.chosen[h]] * values[s.chosen[h]] * shadow * shadow;
        }
        return __builtin_exp(novel / length) + novel / double(last - first + 1) +
               __builtin_exp(-__builtin_sqrt(square) / double(removed));
    }

    void fill(Scratch& s, const int32_t* ids, int64_t tokens, float* row) const {
        const int64_t dim = table.dim;
        for (int64_t t = 0; t < tokens; ++t) {
            read_row(table, ids[t], s.vector);
            for (int64_t m = 0; m < dim; ++m) s.vectors[t * dim + m] = double(s.vector[m]);
        }
        for (int64_t t = 0; t < tokens; ++t) {
            for (int64_t other = t > 2 * s.window ? t - 2 * s.window : 0; other <= t; ++other)
                s.product(t, other) = dot(s.vectors + t * dim, s.vectors + other * dim, dim);
            double* shadow = s.shadows + t * count;
            int64_t d = 0;
            for (; d + 4 <= count; d += 4) dots<4>(s.vectors + t * dim, directions + d * dim, dim, shadow + d);
            for (; d < count; ++d) shadow[d] = dot(s.vectors + t * dim, directions + d * dim, dim);
        }
        choose(s, tokens);
        clear(s.sum, dim);
        for (int64_t t = 0; t < tokens; ++t) {
            const double alpha = weigh(s, tokens, t);
            for (int64_t m = 0; m < dim; ++m) s.sum[m] += alpha * s.vectors[t * dim + m];
        }
        for (int64_t h = 0; h < removed; ++h) {
            const double* direction = directions + s.chosen[h] * dim;
            const double amount = dot(s.sum, direction, dim);
            for (int64_t m = 0; m < dim; ++m) s.sum[m] -= amount * direction[m];
        }
        for (int64_t m = 0; m < dim; ++m) row[m] = float(s.sum[m]);
    }
};

}  // namespace
}  // namespace noppa

NOPPA_METHOD(Gem)
