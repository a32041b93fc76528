// Sums over pairs of words: the kernels of equation 12 and what they are summed to.
#pragma once

#include "kernel_constants.hpp"
#include "pooling/simd.hpp"

namespace {

// Two tokens, as places in the vectors of their sentence, and the coefficient of their kernel.
struct Pair {
    int64_t from, to;
    float coefficient;
};

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

// Sums the kernels of an even number of pairs over VECTORS vectors of every token, two pairs in step. ORDERED adds a row
// of the kernel with the sign of the difference, later word minus earlier one, and PRODUCT one of the product of the two
// words. A difference of zero has a kernel of zero, so that its sign does not matter.
template <class Kernel, int VECTORS, bool ORDERED, bool PRODUCT>
void pair_block(const Pair* pairs, int64_t count, const float* block, int64_t stride, float* out) {
    vf total[VECTORS] = {}, ordered[VECTORS] = {}, product[VECTORS] = {};
    for (const Pair* pair = pairs; pair < pairs + count; pair += 2) {
        vf d[2 * VECTORS];
        vi sign[2 * VECTORS];
        for (int q = 0; q < 2; ++q)
            for (int v = 0; v < VECTORS; ++v) {
                const vf from = load(block + pair[q].from + v * WIDTH), to = load(block + pair[q].to + v * WIDTH);
                d[q * VECTORS + v] = from - to;
                if (ORDERED) sign[q * VECTORS + v] = ~reinterpret_cast<vi>(from - to) & int32_t(0x80000000u);
                if (PRODUCT) product[v] += pair[q].coefficient * (from * to);
            }
        Kernel::of(d);
        for (int q = 0; q < 2; ++q)
            for (int v = 0; v < VECTORS; ++v) {
                total[v] += pair[q].coefficient * d[q * VECTORS + v];
                if (ORDERED) {
                    const vi bits = reinterpret_cast<vi>(d[q * VECTORS + v]) ^ sign[q * VECTORS + v];
                    ordered[v] += pair[q].coefficient * reinterpret_cast<vf>(bits);
                }
            }
    }
    for (int v = 0; v < VECTORS; ++v) {
        store(out + v * WIDTH, total[v] * Kernel::scale);
        if (ORDERED) store(out + stride + v * WIDTH, ordered[v] * Kernel::scale);
        if (PRODUCT) store(out + 2 * stride + v * WIDTH, product[v]);
    }
}

// The rows of sums: the kernels, those with a sign, the products.
constexpr int64_t PAIR_SUMS = 3;

// Sums of pairs over `dim` columns of vectors that lie `stride` apart, whole vectors of them, into sums (PAIR_SUMS, stride).
// Rows that were not asked for are left alone.
using SumPairs = void(const Pair* pairs, int64_t count, const float* vectors, int64_t dim, int64_t stride, float* sums);

template <class Kernel, bool ORDERED, bool PRODUCT>
void sum_pairs(const Pair* pairs, int64_t count, const float* vectors, int64_t dim, int64_t stride, float* sums) {
    int64_t m = 0;
    for (; m + WIDTH < dim; m += BLOCK)
        pair_block<Kernel, 2, ORDERED, PRODUCT>(pairs, count, vectors + m, stride, sums + m);
    if (m < dim) pair_block<Kernel, 1, ORDERED, PRODUCT>(pairs, count, vectors + m, stride, sums + m);
}

template <class Kernel>
SumPairs* sum_with(bool ordered, bool product) {
    if (ordered) return product ? sum_pairs<Kernel, true, true> : sum_pairs<Kernel, true, false>;
    return product ? sum_pairs<Kernel, false, true> : sum_pairs<Kernel, false, false>;
}

inline SumPairs* sum_by(int64_t kernel, bool ordered, bool product) {
    switch (kernel) {
        case noppa::PAIR_KERNEL_LOG2: return sum_with<Log2Pair>(ordered, product);
        case noppa::PAIR_KERNEL_ABS: return sum_with<AbsolutePair>(ordered, product);
        default: return sum_with<SquarePair>(ordered, product);
    }
}

}  // namespace
