// Vectors of floats as the compiler's own vector type: one source for every instruction set.
//
// The including file is compiled once per set; WIDTH follows from the flags it is compiled with.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__AVX__)
// GCC's own header hands out vectors that are undefined on purpose.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

namespace {

#if defined(__AVX512F__)
constexpr int WIDTH = 16;
#elif defined(__AVX__)
constexpr int WIDTH = 8;
#else
constexpr int WIDTH = 4;
#endif

constexpr int64_t BLOCK = 2 * WIDTH;  // floats that are worked on together

typedef float vf __attribute__((vector_size(WIDTH * 4)));
typedef int32_t vi __attribute__((vector_size(WIDTH * 4)));
typedef float vf_anywhere __attribute__((vector_size(WIDTH * 4), aligned(4), may_alias));

inline vf load(const float* at) { return *reinterpret_cast<const vf_anywhere*>(at); }
inline void store(float* at, vf value) { *reinterpret_cast<vf_anywhere*>(at) = value; }

// The first `count` floats, zeros behind them. Ends of rows go through these and never through scalar code: a compiler
// may fuse or reorder scalar sums differently from one place to the next, and then bytes would differ.
#if defined(__AVX512F__)
inline __mmask16 first_lanes(int64_t count) { return __mmask16((1u << (count > 0 ? count : 0)) - 1); }
inline vf load(const float* at, int64_t count) {
    return count >= WIDTH ? load(at) : vf(_mm512_maskz_loadu_ps(first_lanes(count), at));
}
inline void store(float* at, vf value, int64_t count) {
    if (count >= WIDTH) return store(at, value);
    _mm512_mask_storeu_ps(at, first_lanes(count), value);
}
#else
__attribute__((noinline, cold)) inline vf load_end(const float* at, int64_t count) {
    vf some = {};
    if (count > 0) __builtin_memcpy(&some, at, size_t(count) * sizeof(float));
    return some;
}
inline vf load(const float* at, int64_t count) {
    return __builtin_expect(count >= WIDTH, 1) ? load(at) : load_end(at, count);
}
inline void store(float* at, vf value, int64_t count) {
    if (count >= WIDTH) return store(at, value);
    if (count > 0) __builtin_memcpy(at, &value, size_t(count) * sizeof(float));
}
#endif
// A compile-time number, as an argument of a generic lambda.
template <int VALUE>
struct Count {
    static constexpr int value = VALUE;
};

inline vf all(float value) { return value - vf{}; }
inline vf larger(vf a, vf b) { return a > b ? a : b; }
inline vf smaller(vf a, vf b) { return a < b ? a : b; }

typedef float four __attribute__((vector_size(16)));

// All lanes joined to one number, halves first: always in the same order.
template <class Join>
inline float joined(vf v, Join join) {
    four parts[WIDTH / 4];
    __builtin_memcpy(parts, &v, sizeof v);
    for (int step = WIDTH / 8; step; step /= 2)
        for (int q = 0; q < step; ++q) parts[q] = join(parts[q], parts[q + step]);
    const four s = parts[0];
    return join(join(s[0], s[2]), join(s[1], s[3]));
}
inline float sum(vf v) {
    return joined(v, [](auto a, auto b) { return a + b; });
}
inline float largest(vf v) {
    return joined(v, [](auto a, auto b) { return a > b ? a : b; });
}

// 2^23 · log2(y) for y >= 1, in place. The factor saves a shift: the exponent is used as it stands in the float's bits,
// and the caller divides by LOG2_SCALE once per sum. With y = 2^k (1 + f) and 1 + f between sqrt(1/2) and sqrt(2),
// log2(y) = k + f P(f), where P is the minimax polynomial of tools/minimax.py, degree 6, relative error 1.1e-6; log2(1)
// is exactly 0. COUNT of them go in step: each line is COUNT independent instructions, which hides their latency.
constexpr float LOG2_SCALE = 8388608.0f;

template <int COUNT>
inline void scaled_log2(vf (&y)[COUNT]) {
    constexpr int32_t root_half = 0x3f3504f3, exponent = int32_t(0xff800000u);
    constexpr float c[] = {1.442696447e+00f * LOG2_SCALE, -7.213635760e-01f * LOG2_SCALE,
                           4.806267683e-01f * LOG2_SCALE, -3.593716436e-01f * LOG2_SCALE,
                           2.956995207e-01f * LOG2_SCALE, -2.693202167e-01f * LOG2_SCALE,
                           1.716245617e-01f * LOG2_SCALE};
    vi k[COUNT];
    vf f[COUNT], p[COUNT];
    for (int q = 0; q < COUNT; ++q) k[q] = (reinterpret_cast<vi>(y[q]) - root_half) & exponent;
    for (int q = 0; q < COUNT; ++q) f[q] = reinterpret_cast<vf>(reinterpret_cast<vi>(y[q]) - k[q]) - 1.0f;
    for (int q = 0; q < COUNT; ++q) p[q] = c[6] * f[q] + c[5];
    for (int q = 0; q < COUNT; ++q) p[q] = p[q] * f[q] + c[4];
    for (int q = 0; q < COUNT; ++q) p[q] = p[q] * f[q] + c[3];
    for (int q = 0; q < COUNT; ++q) p[q] = p[q] * f[q] + c[2];
    for (int q = 0; q < COUNT; ++q) p[q] = p[q] * f[q] + c[1];
    for (int q = 0; q < COUNT; ++q) p[q] = p[q] * f[q] + c[0];
    for (int q = 0; q < COUNT; ++q) y[q] = p[q] * f[q] + __builtin_convertvector(k[q], vf);
}

// e^x for x <= 0, down to 1e-38; relative error 3e-7.
inline vf exp_of(vf x) {
    constexpr float magic = 12582912.0f;  // 1.5 · 2^23: adding it rounds to an integer
    x = larger(x, all(-87.0f));
    const vf n = (x * 1.44269504f + magic) - magic;
    vf r = x - n * 0.693359375f;
    r = (r + n * 2.12194440e-4f) * 1.44269504f;
    vf p = 1.297856991e-03f * r + 9.666055696e-03f;
    p = p * r + 5.551430031e-02f;
    p = p * r + 2.402234146e-01f;
    p = p * r + 6.931467265e-01f;
    p = p * r + 1.000000008e+00f;
    const vi power = (__builtin_convertvector(n, vi) + 127) << 23;
    return p * reinterpret_cast<vf>(power);
}

}  // namespace
