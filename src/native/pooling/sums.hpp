// Sums in float64 for the methods that add up words.
//
// They run in the order of the tokens, so that a sentence gets the same bytes in any batch. Plain loops are left to the
// compiler's vectorizer; sums across a vector, which it may not reorder, are written out.
#pragma once

#include "pooling/decoders.hpp"
#include "pooling/simd.hpp"

namespace {

constexpr double PI = 3.14159265358979323846;

inline void clear(double* values, int64_t count) {
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

inline double dot(const double* a, const double* b, int64_t dim) {
    double out;
    dots<1>(a, b, dim, &out);
    return out;
}

inline double total(const double* a, int64_t dim) {
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

}  // namespace
