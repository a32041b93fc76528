// Compiled once per instruction set: see pooling/method.hpp.
#include "duplicates/codes.hpp"

#include "pooling/simd.hpp"

namespace noppa {
namespace {

CodedRow encode(const float* row, int64_t dim, int8_t* code) {
    float most = 0;
    for (int64_t m = 0; m < dim; ++m) {
        const float size = __builtin_fabsf(row[m]);
        most = size > most ? size : most;
    }
    constexpr float LARGEST = 3.4e38f;
    if (!(most > 0 && most <= LARGEST)) most = 0;  // neither zeros nor infinities are like anything
    const float scale = most / 127.0f;
    double lost = 0;
    for (int64_t m = 0; m < dim; ++m) {
        const float exact_level = most > 0 ? __builtin_rintf(row[m] / most * 127.0f) : 0.0f;
        const float level = exact_level >= -127 && exact_level <= 127 ? exact_level : 0.0f;  // NaN is 0
        code[m] = int8_t(level);
        const double rest = double(row[m]) - double(level) * double(scale);
        lost += rest * rest;
    }
    return {scale, float(__builtin_sqrt(lost) * 1.000001)};
}

// Plain loops, which compilers turn into multiply-and-add of 16-bit pairs.
void dots(const int16_t* queries, const int8_t* codes, int64_t count, int64_t dim, int32_t* out) {
    const int16_t *a = queries, *b = a + dim, *c = b + dim, *d = c + dim;
    for (int64_t i = 0; i < count; ++i) {
        const int8_t* code = codes + i * dim;
        int32_t p = 0, q = 0, r = 0, s = 0;
        for (int64_t m = 0; m < dim; ++m) {
            const int16_t x = code[m];
            p += int32_t(a[m]) * x;
            q += int32_t(b[m]) * x;
            r += int32_t(c[m]) * x;
            s += int32_t(d[m]) * x;
        }
        out[i] = p;
        out[count + i] = q;
        out[2 * count + i] = r;
        out[3 * count + i] = s;
    }
}

void dots_of_one(const int16_t* query, const int8_t* codes, int64_t count, int64_t dim, int32_t* out) {
    for (int64_t i = 0; i < count; ++i) {
        const int8_t* code = codes + i * dim;
        int32_t dot = 0;
        for (int64_t m = 0; m < dim; ++m) dot += int32_t(query[m]) * int16_t(code[m]);
        out[i] = dot;
    }
}

float exact(const float* a, const float* b, int64_t dim) {
    vf total = {};
    for (int64_t m = 0; m < dim; m += WIDTH) total += load(a + m, dim - m) * load(b + m, dim - m);
    return sum(total);
}

}  // namespace

const CodeKernels NOPPA_SET::code_kernels = {encode, dots, dots_of_one, exact};

}  // namespace noppa
