// Stored columns as vectors of floats. A decoder takes the levels of BLOCK columns, two vectors, from `BYTES` bytes, in the
// order that costs least; `order` makes it that of the columns. Floats are their own levels; in quantized columns a value is
// a level times a unit.
#pragma once

#include "kernel_constants.hpp"
#include "pooling/simd.hpp"

namespace {

struct Floats {
    static constexpr int64_t BYTES = BLOCK * 4;
    static void levels(const uint8_t* bytes, vf (&values)[2]) {
        for (int v = 0; v < 2; ++v) __builtin_memcpy(&values[v], bytes + v * sizeof(vf), sizeof(vf));
    }
    static void order(vf (&)[2]) {}
    static int64_t bytes_of(int64_t columns) { return columns * 4; }
};

// A half's bits, shifted into a float's place, are the value times 2^-112, subnormals included.
constexpr float HALF_UNIT = 5.192296858534828e+33f;

struct Halves {
    static constexpr int64_t BYTES = BLOCK * 2;
    static void levels(const uint8_t* bytes, vf (&values)[2]) {
#if defined(__AVX512F__)
        for (int v = 0; v < 2; ++v) {
            const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + v * 2 * WIDTH));
            values[v] = _mm512_cvtph_ps(halves);
        }
#elif defined(__F16C__)  // as every processor with AVX2 has
        for (int v = 0; v < 2; ++v) {
            const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + v * 2 * WIDTH));
            values[v] = _mm256_cvtph_ps(halves);
        }
#else
        uint16_t halves[BLOCK];
        int32_t wide[BLOCK];
        __builtin_memcpy(halves, bytes, BYTES);
        for (int64_t m = 0; m < BLOCK; ++m) wide[m] = halves[m];
        for (int v = 0; v < 2; ++v) {
            vi bits;
            __builtin_memcpy(&bits, wide + v * WIDTH, sizeof bits);
            const vf size = reinterpret_cast<vf>((bits & 0x7fff) << 13) * HALF_UNIT;
            values[v] = reinterpret_cast<vf>(reinterpret_cast<vi>(size) | (bits & 0x8000) << 16);
        }
#endif
    }
    static void order(vf (&)[2]) {}
    static int64_t bytes_of(int64_t columns) { return columns * 2; }
};

struct EightBits {
    static constexpr int64_t BYTES = BLOCK;
    static void levels(const uint8_t* bytes, vf (&values)[2]) {
        for (int v = 0; v < 2; ++v) {
#if defined(__AVX512F__)
            const __m128i levels = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + v * WIDTH));
            values[v] = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(levels));
#elif defined(__AVX2__)
            const __m128i levels = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes + v * WIDTH));
            values[v] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(levels));
#else
            vi levels = {};
            for (int lane = 0; lane < WIDTH; ++lane) levels[lane] = int8_t(bytes[v * WIDTH + lane]);
            values[v] = __builtin_convertvector(levels, vf);
#endif
        }
    }
    static void order(vf (&)[2]) {}
    static int64_t bytes_of(int64_t columns) { return columns; }
};

template <class T>
struct Sixteen {
    T values[16];
    constexpr Sixteen() : values() {
        for (int number = 0; number < 16; ++number) values[number] = T(noppa::FOUR_BIT_LEVELS[number]);
    }
};
alignas(64) constexpr Sixteen<float> LEVELS;
alignas(16) constexpr Sixteen<int8_t> SMALL_LEVELS;

// Two columns a byte, the earlier one in the lower half, as numbers of levels.
struct FourBits {
    static constexpr int64_t BYTES = BLOCK / 2;
    static void levels(const uint8_t* bytes, vf (&values)[2]) {
#if defined(__AVX512F__)
        // Sixteen levels are one vector of floats, from which each column picks by its number: even columns, then odd ones.
        const __m512 all = load(LEVELS.values);
        const __m512i both = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
        values[0] = _mm512_permutexvar_ps(both, all);
        values[1] = _mm512_permutexvar_ps(_mm512_srli_epi32(both, 4), all);
#elif defined(__AVX2__)
        // Sixteen levels of a byte each are one vector, from which a shuffle of bytes picks.
        const __m128i both = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes)), half = _mm_set1_epi8(15);
        const __m128i even = _mm_and_si128(both, half), odd = _mm_and_si128(_mm_srli_epi16(both, 4), half);
        const __m128i all = _mm_load_si128(reinterpret_cast<const __m128i*>(SMALL_LEVELS.values));
        const __m128i levels = _mm_shuffle_epi8(all, _mm_unpacklo_epi8(even, odd));
        values[0] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(levels));
        values[1] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(levels, 8)));
#else
        for (int v = 0; v < 2; ++v)
            for (int lane = 0; lane < WIDTH; lane += 2) {
                const uint8_t both = bytes[(v * WIDTH + lane) / 2];
                values[v][lane] = LEVELS.values[both & 15];
                values[v][lane + 1] = LEVELS.values[both >> 4];
            }
#endif
    }
    static void order([[maybe_unused]] vf (&values)[2]) {
#if defined(__AVX512F__)
        const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        const __m512i second = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        const __m512 even = values[0], odd = values[1];
        values[0] = _mm512_permutex2var_ps(even, first, odd);
        values[1] = _mm512_permutex2var_ps(even, second, odd);
#endif
    }
    static int64_t bytes_of(int64_t columns) { return (columns + 1) / 2; }
};

}  // namespace
