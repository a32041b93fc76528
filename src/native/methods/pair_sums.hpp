// Sums over pairs of words: the kernels of equation 12 and what they are summed to.
#pragma once

#include "kernel_constants.hpp"
#include "methods/attention.hpp"
#include "pooling/simd.hpp"

namespace {

// Two tokens, as places in the vectors of their sentence, and the coefficient of their kernel.
struct Pair {
    int64_t from, to;
    float coefficient;
};

// Equation 12's kernels, on differences of positional vectors.
struct Log2Pair {
    static constexpr bool has_near_form = true;  // small differences have a cheaper form
    static constexpr float scale = 1.0f / LOG2_SCALE;
    template <int COUNT>
    static void of(vf (&d)[COUNT]) {
        for (int q = 0; q < COUNT; ++q) d[q] = d[q] * d[q] + 1.0f;
        scaled_log2(d);
    }
};
struct AbsolutePair {
    static constexpr bool has_near_form = false;
    static constexpr float scale = 1.0f;
    template <int COUNT>
    static void of(vf (&d)[COUNT]) {
        for (int q = 0; q < COUNT; ++q) d[q] = larger(d[q], -d[q]);
    }
};
struct SquarePair {
    static constexpr bool has_near_form = false;
    static constexpr float scale = 1.0f;
    template <int COUNT>
    static void of(vf (&d)[COUNT]) {
        for (int q = 0; q < COUNT; ++q) d[q] *= d[q];
    }
};

#if defined(__AVX512F__)
// log2(1 + d²) for |d| below its `reach`: d rounded to eighths picks a cubic in d² from VECTORS vectors of them. Its relative
// error is below 1.5e-6, also for the smallest d, of which 1 + d² keeps little.
struct Cubics {
    float coefficients[4][noppa::LOG2_PIECES];
    constexpr Cubics() : coefficients() {
        for (int power = 0; power < 4; ++power)
            for (int piece = 0; piece < noppa::LOG2_PIECES; ++piece)
                coefficients[power][piece] = float(noppa::LOG2_CUBICS[power * noppa::LOG2_PIECES + piece]);
    }
};
alignas(64) constexpr Cubics CUBICS;

template <int VECTORS>
struct Log2PairInPieces {
    static constexpr float scale = 1.0f;
    static constexpr float reach = (VECTORS * WIDTH - 0.5f) * float(noppa::LOG2_PIECE_WIDTH);
    // Added to a number, it rounds it to a multiple of the pieces' width, whose count ends up in the lowest bits.
    static constexpr float rounding = LOG2_SCALE * float(noppa::LOG2_PIECE_WIDTH);

    static vf pick(int power, __m512i piece) {
        const float* from = CUBICS.coefficients[power];
        return VECTORS == 1 ? _mm512_permutexvar_ps(piece, load(from))
                            : _mm512_permutex2var_ps(load(from), piece, load(from + WIDTH));
    }
    template <int COUNT>
    static void of(vf (&d)[COUNT]) {
        for (int q = 0; q < COUNT; ++q) {
            const vf t = d[q] * d[q], size = _mm512_abs_ps(d[q]);
            const __m512i piece = reinterpret_cast<__m512i>(size + rounding);
            d[q] = pick(3, piece);
            for (int power = 2; power >= 0; --power) d[q] = d[q] * t + pick(power, piece);
        }
    }
};
#else
// log2(1 + d²) for |d| below its `reach` as a polynomial of t = d², with Knuth's preconditioned coefficients (tools/minimax.py):
// 4 multiplications in place of 7. Its relative error is below 1.5e-6, also for the smallest d, of which 1 + d² keeps little.
struct Log2PairNear {
    static constexpr float reach = 1.0f;
    static constexpr float scale = 2.040098472e-02f;
    template <int COUNT>
    static void of(vf (&d)[COUNT]) {
        for (int q = 0; q < COUNT; ++q) {
            const vf t = d[q] * d[q];
            const vf z = (t + -3.536882821f) * t + 6.850578399f;
            const vf w = (t + 0.6890330250f) * z + -2.174304637f;
            d[q] = ((w + z + -17.91151263f) * w + 92.39568607f) * t;
        }
    }
};
#endif

// The largest difference of two words of a tile in VECTORS vectors of columns.
template <int VECTORS>
float spread(const Tile& tile, const float* block, int64_t stride) {
    vf low[VECTORS], high[VECTORS];
    for (int v = 0; v < VECTORS; ++v) low[v] = high[v] = load(block + tile.i * stride + v * WIDTH);
    const auto widen = [&](int64_t first, int64_t count) {
        for (int64_t t = first; t < first + count; ++t)
            for (int v = 0; v < VECTORS; ++v) {
                const vf word = load(block + t * stride + v * WIDTH);
                low[v] = smaller(low[v], word);
                high[v] = larger(high[v], word);
            }
    };
    widen(tile.i + 1, tile.rows - 1);
    if (!tile.diagonal()) widen(tile.j, tile.columns);
    vf most = high[0] - low[0];
    for (int v = 1; v < VECTORS; ++v) most = larger(most, high[v] - low[v]);
    return largest(most);
}

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
                const vf coefficient = all(pair[q].coefficient);
                total[v] += coefficient * d[q * VECTORS + v];
                if (ORDERED) {
                    const vi bits = reinterpret_cast<vi>(coefficient) ^ sign[q * VECTORS + v];
                    ordered[v] += reinterpret_cast<vf>(bits) * d[q * VECTORS + v];
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

// Sums of the pairs of a tile over all columns, whole vectors of them, into sums (PAIR_SUMS, stride). Rows that were not asked
// for are left alone. Which form a kernel takes depends on the words of the tile alone: the same bytes in any batch.
using SumPairs = void(const Attention& words, const Tile& tile, const Pair* pairs, int64_t count, float* sums);

template <class Kernel, bool ORDERED, bool PRODUCT>
void sum_pairs(const Attention& words, [[maybe_unused]] const Tile& tile, const Pair* pairs, int64_t count,
               float* sums) {
    const int64_t stride = words.stride;
    const auto sum_block = [&](auto vectors, int64_t m) {
        constexpr int VECTORS = decltype(vectors)::value;
        const float* block = words.vectors + m;
        if constexpr (Kernel::has_near_form) {
            const float most = spread<VECTORS>(tile, block, stride);
#if defined(__AVX512F__)
            using Nearest = Log2PairInPieces<1>;
            using Near = Log2PairInPieces<2>;
            if (most < Nearest::reach)
                return pair_block<Nearest, VECTORS, ORDERED, PRODUCT>(pairs, count, block, stride, sums + m);
#else
            using Near = Log2PairNear;
#endif
            if (most < Near::reach)
                return pair_block<Near, VECTORS, ORDERED, PRODUCT>(pairs, count, block, stride, sums + m);
        }
        pair_block<Kernel, VECTORS, ORDERED, PRODUCT>(pairs, count, block, stride, sums + m);
    };
    int64_t m = 0;
    for (; m + WIDTH < words.dim; m += BLOCK) sum_block(Count<2>{}, m);
    if (m < words.dim) sum_block(Count<1>{}, m);
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
