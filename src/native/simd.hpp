// Vectors of floats as the compiler's own vector type: one source for every instruction set.
//
// The including file is compiled once per set; WIDTH follows from the flags it is compiled with.
#pragma once

#include <cstddef>
#include <cstdint>

namespace {

#if defined(__AVX512F__)
constexpr int WIDTH = 16;
#elif defined(__AVX__)
constexpr int WIDTH = 8;
#else
constexpr int WIDTH = 4;
#endif

typedef float vf __attribute__((vector_size(WIDTH * 4)));
typedef int32_t vi __attribute__((vector_size(WIDTH * 4)));
typedef float vf_anywhere __attribute__((vector_size(WIDTH * 4), aligned(4), may_alias));

inline vf load(const float* at) { return *reinterpret_cast<const vf_anywhere*>(at); }
inline void store(float* at, vf value) { *reinterpret_cast<vf_anywhere*>(at) = value; }
inline vf all(float value) { return value - vf{}; }
inline vf larger(vf a, vf b) { return a > b ? a : b; }

inline float sum(vf v) {
    float halves[WIDTH];
    store(halves, v);
    for (int step = WIDTH / 2; step; step /= 2)
        for (int lane = 0; lane < step; ++lane) halves[lane] += halves[lane + step];
    return halves[0];
}

// 2^23 · log2(1 + t) for t >= 0. The factor saves a shift: the exponent is used as it stands in the float's bits, and
// the caller divides by LOG2_SCALE once per coefficient. With 2^k the power of two nearest to 1 + t,
//     log2(1 + t) = k + log2(1 + f),   f = t·2^-k + (2^-k - 1),
// where f is exact for k = 0: small differences keep their relative accuracy. The polynomial is the minimax one of
// tools/minimax.py, degree 6, relative error 1.1e-6.
constexpr float LOG2_SCALE = 8388608.0f;

inline vf log2_of_1_plus(vf t) {
    constexpr int32_t root_half = 0x3f3504f3, one = 0x3f800000, exponent = int32_t(0xff800000u);
    constexpr float c0 = 1.442696447e+00f * LOG2_SCALE, c1 = -7.213635760e-01f * LOG2_SCALE,
                    c2 = 4.806267683e-01f * LOG2_SCALE, c3 = -3.593716436e-01f * LOG2_SCALE,
                    c4 = 2.956995207e-01f * LOG2_SCALE, c5 = -2.693202167e-01f * LOG2_SCALE,
                    c6 = 1.716245617e-01f * LOG2_SCALE;
    const vf y = t + 1.0f;
    const vi k = (reinterpret_cast<vi>(y) - root_half) & exponent;
    const vf scale = reinterpret_cast<vf>(one - k);
    const vf f = t * scale + (scale - 1.0f);
    vf p = c6 * f + c5;
    p = p * f + c4;
    p = p * f + c3;
    p = p * f + c2;
    p = p * f + c1;
    p = p * f + c0;
    return p * f + __builtin_convertvector(k, vf);
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
