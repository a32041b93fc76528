// Compiled once per instruction set: see pooling/method.hpp.
#include "search/dots.hpp"

#include "pooling/rows.hpp"
#include "pooling/simd.hpp"

#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__F16C__))
#include <immintrin.h>
#define NOPPA_WIDENS
#endif

namespace noppa {
namespace {

// How rows are stored: WIDTH numbers of one as floats.

struct Floats {
    typedef float number;
    static vf read(const float* at) { return load(at); }
};

#if defined(NOPPA_WIDENS)
struct Halves {
    typedef uint16_t number;
    static vf read(const uint16_t* at) {
#if defined(__AVX512F__)
        return vf(_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at))));
#else
        return vf(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))));
#endif
    }
};

struct Bytes {
    typedef int8_t number;
    static vf read(const int8_t* at) {
#if defined(__AVX512F__)
        return vf(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)))));
#else
        return vf(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at)))));
#endif
    }
};
#endif

// The first `count` numbers, zeros behind them.
template <class STORED>
vf read(const typename STORED::number* at, int64_t count) {
    if (count >= WIDTH) return STORED::read(at);
    typename STORED::number some[WIDTH] = {};
    __builtin_memcpy(some, at, size_t(count) * sizeof *at);
    return STORED::read(some);
}

// One row with QUERIES queries: the sums of each run in one order, whatever others come with it.
template <class STORED, int QUERIES>
void dots(const typename STORED::number* row, const float* queries, int64_t dim, float scale, float* out,
          int64_t stride) {
    vf even[QUERIES] = {}, odd[QUERIES] = {};
    int64_t m = 0;
    for (; m + 2 * WIDTH <= dim; m += 2 * WIDTH) {
        const vf first = STORED::read(row + m), second = STORED::read(row + m + WIDTH);
        for (int q = 0; q < QUERIES; ++q) {
            even[q] += first * load(queries + q * dim + m);
            odd[q] += second * load(queries + q * dim + m + WIDTH);
        }
    }
    for (; m < dim; m += WIDTH) {
        const vf rest = read<STORED>(row + m, dim - m);
        for (int q = 0; q < QUERIES; ++q) even[q] += rest * load(queries + q * dim + m, dim - m);
    }
    for (int q = 0; q < QUERIES; ++q) out[q * stride] = scale * sum(even[q] + odd[q]);
}

template <class STORED>
void dots_of_row(const typename STORED::number* row, float scale, const float* queries, int64_t query_count,
                 int64_t dim, float* out, int64_t stride) {
    constexpr int TOGETHER = 4;
    int64_t q = 0;
    for (; q + TOGETHER <= query_count; q += TOGETHER)
        dots<STORED, TOGETHER>(row, queries + q * dim, dim, scale, out + q * stride, stride);
    for (; q < query_count; ++q) dots<STORED, 1>(row, queries + q * dim, dim, scale, out + q * stride, stride);
}

}  // namespace

namespace NOPPA_SET {

void dot_rows(const Table& table, const int32_t* ids, int64_t count, const float* queries, int64_t query_count,
              float* scratch, float* out) {
    for (int64_t at = 0; at < count; ++at) {
        const char* row = static_cast<const char*>(table.rows) + int64_t(ids[at]) * table.row_apart;
        const auto with = [&](auto stored, const auto* row, float scale) {
            dots_of_row<decltype(stored)>(row, scale, queries, query_count, table.dim, out + at, count);
        };
        if (table.storage == FLOAT32) {
            with(Floats{}, reinterpret_cast<const float*>(row), 1);
#if defined(NOPPA_WIDENS)  // elsewhere read_row is as fast
        } else if (table.storage == FLOAT16) {
            with(Halves{}, reinterpret_cast<const uint16_t*>(row), 1);
        } else if (table.storage == QUANTIZED && table.block_count == 1 && table.blocks[0].bits == 8 &&
                   !table.half_scales) {
            const float scale = static_cast<const float*>(table.scales)[ids[at]] * table.unit;
            with(Bytes{}, reinterpret_cast<const int8_t*>(row), scale);
#endif
        } else {
            read_row(table, ids[at], scratch);
            with(Floats{}, scratch, 1);
        }
    }
}

}  // namespace NOPPA_SET
}  // namespace noppa
