// Compiled once per instruction set: see pooling/method.hpp.
#include "refine/steps.hpp"

#include "pooling/simd.hpp"

namespace noppa {
namespace {

// Every sum below runs in one order, whatever rows come with it: the same bytes in any batch.

// Columns [0, dim), whole vectors and then the rest: use(column, count).
template <class Use>
inline void each_vector(int64_t dim, Use use) {
    int64_t m = 0;
    for (; m + WIDTH <= dim; m += WIDTH) use(m, WIDTH);
    if (m < dim) use(m, dim - m);
}

// amounts (ROWS, DIRECTIONS) = rows · left - bias.
template <int ROWS, int DIRECTIONS>
void project(const Step& step, const float* rows, int64_t first, float* amounts) {
    vf total[ROWS][DIRECTIONS] = {};
    each_vector(step.in, [&](int64_t m, int64_t some) __attribute__((always_inline)) {
        vf here[ROWS];
        for (int r = 0; r < ROWS; ++r) here[r] = load(rows + r * step.in + m, some);
        for (int d = 0; d < DIRECTIONS; ++d) {
            const vf left = load(step.left + (first + d) * step.in + m, some);
            for (int r = 0; r < ROWS; ++r) total[r][d] += left * here[r];
        }
    });
    for (int r = 0; r < ROWS; ++r)
        for (int d = 0; d < DIRECTIONS; ++d)
            amounts[r * step.inner + first + d] = sum(total[r][d]) - step.bias[first + d];
}

// out = rows - amounts · right, in VECTORS vectors from column m on, of which `some` columns are there.
template <int ROWS, int VECTORS>
inline void subtract(const Step& step, const float* rows, const float* amounts, int64_t m, int64_t some, float* out) {
    vf total[ROWS][VECTORS];
    for (int r = 0; r < ROWS; ++r)
        for (int v = 0; v < VECTORS; ++v) total[r][v] = load(rows + r * step.in + m + v * WIDTH, some - v * WIDTH);
    for (int64_t d = 0; d < step.inner; ++d)
        for (int v = 0; v < VECTORS; ++v) {
            const vf right = load(step.right + d * step.in + m + v * WIDTH, some - v * WIDTH);
            for (int r = 0; r < ROWS; ++r) total[r][v] -= all(amounts[r * step.inner + d]) * right;
        }
    for (int r = 0; r < ROWS; ++r)
        for (int v = 0; v < VECTORS; ++v) store(out + r * step.in + m + v * WIDTH, total[r][v], some - v * WIDTH);
}

template <int ROWS>
void remove_rows(const Step& step, const float* rows, float* amounts, float* out) {
    constexpr int DIRECTIONS = ROWS == 1 ? 8 : WIDTH == 16 ? 4 : 2, VECTORS = WIDTH == 16 ? 4 : 2;
    int64_t d = 0, m = 0;
    for (; d + DIRECTIONS <= step.inner; d += DIRECTIONS) project<ROWS, DIRECTIONS>(step, rows, d, amounts);
    for (; d < step.inner; ++d) project<ROWS, 1>(step, rows, d, amounts);
    for (; m + VECTORS * WIDTH <= step.in; m += VECTORS * WIDTH)
        subtract<ROWS, VECTORS>(step, rows, amounts, m, VECTORS * WIDTH, out);
    for (; m < step.in; m += WIDTH) subtract<ROWS, 1>(step, rows, amounts, m, step.in - m, out);
}

// out = rows · left + bias; ROWS rows share each load of the matrix.
template <int ROWS>
void map_rows(const Step& step, const float* rows, float* out) {
    for (int64_t c = 0; c < step.out; c += BLOCK) {
        const int64_t low = step.out - c, high = low > WIDTH ? low - WIDTH : 0;
        vf total[ROWS][2];
        for (int r = 0; r < ROWS; ++r) {
            total[r][0] = load(step.bias + c, low);
            total[r][1] = load(step.bias + c + WIDTH, high);
        }
        for (int64_t m = 0; m < step.in; ++m) {
            const float* weights = step.left + m * step.out + c;
            const vf w0 = load(weights, low), w1 = load(weights + WIDTH, high);
            for (int r = 0; r < ROWS; ++r) {
                const vf x = all(rows[r * step.in + m]);
                total[r][0] += x * w0;
                total[r][1] += x * w1;
            }
        }
        for (int r = 0; r < ROWS; ++r) {
            store(out + r * step.out + c, total[r][0], low);
            store(out + r * step.out + c + WIDTH, total[r][1], high);
        }
    }
}

// A sum of squares in float64, so that neither tiny nor huge rows lose their length.
void normalize(const float* row, int64_t dim, float* out) {
    double square = 0;
    for (int64_t m = 0; m < dim; ++m) square += double(row[m]) * double(row[m]);
    const double scale = square > 0 ? 1.0 / __builtin_sqrt(square) : 0.0;
    for (int64_t m = 0; m < dim; ++m) out[m] = float(double(row[m]) * scale);
}

// The largest finite float; larger values are clipped to it.
constexpr double MOST = 3.4028234663852886e38;

inline float saturated(double value) { return float(value > MOST ? MOST : value < -MOST ? -MOST : value); }

bool finite(const float* row, int64_t dim) {
    constexpr uint32_t EXPONENT = 0x7f800000u;
    uint32_t bad = 0;
    for (int64_t m = 0; m < dim; ++m) {
        uint32_t bits;
        __builtin_memcpy(&bits, row + m, 4);
        bad |= (bits & EXPONENT) == EXPONENT;
    }
    return !bad;
}

// In float64, for a row that overflows float32: word vectors far larger than those that the step was fitted on.
void apply_slowly(const Step& step, const float* row, float* amounts, float* out) {
    if (step.kind == STEP_MAP) {
        for (int64_t c = 0; c < step.out; ++c) {
            double total = step.bias[c];
            for (int64_t m = 0; m < step.in; ++m) total += double(row[m]) * double(step.left[m * step.out + c]);
            out[c] = saturated(total);
        }
        return;
    }
    for (int64_t d = 0; d < step.inner; ++d) {
        double total = -double(step.bias[d]);
        for (int64_t m = 0; m < step.in; ++m) total += double(row[m]) * double(step.left[d * step.in + m]);
        amounts[d] = saturated(total);
    }
    for (int64_t m = 0; m < step.in; ++m) {
        double total = row[m];
        for (int64_t d = 0; d < step.inner; ++d) total -= double(amounts[d]) * double(step.right[d * step.in + m]);
        out[m] = saturated(total);
    }
}

}  // namespace

void NOPPA_SET::apply_step(const Step& step, const float* rows, int64_t count, float* scratch, float* out) {
    const auto some = [&](auto size, int64_t r) {
        constexpr int ROWS = decltype(size)::value;
        const float* from = rows + r * step.in;
        float* to = out + r * step.out;
        if (step.kind == STEP_MAP) map_rows<ROWS>(step, from, to);
        else if (step.kind == STEP_REMOVE) remove_rows<ROWS>(step, from, scratch, to);
        else
            for (int q = 0; q < ROWS; ++q) normalize(from + q * step.in, step.in, to + q * step.in);
        if (step.kind != STEP_NORMALISE)
            for (int q = 0; q < ROWS; ++q)
                if (!finite(to + q * step.out, step.out))
                    apply_slowly(step, from + q * step.in, scratch, to + q * step.out);
    };
    int64_t r = 0;
    for (; r + 4 <= count; r += 4) some(Count<4>{}, r);
    for (; r < count; ++r) some(Count<1>{}, r);
}

}  // namespace noppa
