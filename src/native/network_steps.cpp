// Compiled once per instruction set: see pooling/method.hpp.
//
// The gradient of the first layer is never stored: each tile of it goes into Adam from its registers. 48 of the 50 hidden
// units fill whole vectors; the weights of the other two, the tail, are kept apart, in vectors of inputs.
#include "network_steps.hpp"

#include "pooling/simd.hpp"

namespace noppa {
namespace {

constexpr double RATE = 1e-3, BETA1 = 0.9, BETA2 = 0.999, EPSILON = 1e-8;
constexpr int64_t STRIDE = HIDDEN_STRIDE;
// Floats of a vector; they divide the stride, which sixteen does not.
#if defined(__AVX__)
constexpr int LANES = 8;
#else
constexpr int LANES = 4;
#endif
constexpr int VECTORS = HIDDEN_STRIDE / LANES;
constexpr int BODY = HIDDEN_UNITS / LANES;         // vectors that are full of units
constexpr int TAIL = HIDDEN_UNITS - LANES * BODY;  // units behind them
constexpr int64_t DEPTH = 100;                     // inputs whose weights stay in the first-level cache
constexpr int64_t LINE = 16;                       // floats of a cache line

typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef float lanes_anywhere __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

inline lanes get(const float* at) { return *reinterpret_cast<const lanes_anywhere*>(at); }
inline void put(float* at, lanes value) { *reinterpret_cast<lanes_anywhere*>(at) = value; }

inline float sum(lanes v) {
    float total = 0;
    for (int q = 0; q < LANES / 2; ++q) total += v[q] + v[q + LANES / 2];
    return total;
}

struct Adam {
    float rate, epsilon, l2;
    float beta1 = float(BETA1), beta2 = float(BETA2);

    // Constant factors are merged: the moments lack 1 - beta, which rate and epsilon make up for.
    Adam(int64_t step, float l2) : l2(l2) {
        const double scale = __builtin_sqrt((1 - BETA2) / (1 - __builtin_pow(BETA2, double(step))));
        rate = float(RATE * (1 - BETA1) / (1 - __builtin_pow(BETA1, double(step))) / scale);
        epsilon = float(EPSILON / scale);
    }
    void update(const Network& network, int64_t at, lanes gradient) const {
        const lanes old = get(network.parameters + at);
        gradient += l2 * old;
        const lanes mean = beta1 * get(network.mean + at) + gradient;
        const lanes square = beta2 * get(network.square + at) + gradient * gradient;
        put(network.mean + at, mean);
        put(network.square + at, square);
        lanes root;
        for (int q = 0; q < LANES; ++q) root[q] = __builtin_sqrtf(square[q]);
        put(network.parameters + at, old - rate * mean / (root + epsilon));
    }
};

// hidden (n, COUNT vectors) += inputs (n, depth) @ weights (depth, STRIDE) for ROWS rows n of the batch.
template <int ROWS, int COUNT>
inline void add_products(const int32_t* rows, const float* inputs, int64_t apart, const float* weights, int64_t depth,
                         float* hidden) {
    lanes sums[ROWS][COUNT];
    const float* from[ROWS];
    float* to[ROWS];
    for (int r = 0; r < ROWS; ++r) {
        from[r] = inputs + rows[r] * apart;
        to[r] = hidden + rows[r] * STRIDE;
        for (int c = 0; c < COUNT; ++c) sums[r][c] = get(to[r] + LANES * c);
    }
    for (int64_t k = 0; k < depth; ++k) {
        lanes own[COUNT];
        for (int c = 0; c < COUNT; ++c) own[c] = get(weights + k * STRIDE + LANES * c);
        for (int r = 0; r < ROWS; ++r)
            for (int c = 0; c < COUNT; ++c) sums[r][c] += from[r][k] * own[c];
    }
    for (int r = 0; r < ROWS; ++r)
        for (int c = 0; c < COUNT; ++c) put(to[r] + LANES * c, sums[r][c]);
}

// Adam on INPUTS inputs' weights to COUNT vectors of units; their gradient is the sum of inputs times `back` over the rows.
template <int INPUTS, int COUNT>
inline void descend(const Network& network, const Adam& adam, int64_t at, const float* inputs, int64_t apart,
                    const float* back, const int32_t* rows, int64_t count) {
    lanes sums[INPUTS][COUNT] = {};
    for (int64_t r = 0; r < count; ++r) {
        const int64_t n = rows[r];
        lanes own[COUNT];
        for (int c = 0; c < COUNT; ++c) own[c] = get(back + n * STRIDE + LANES * c);
        for (int k = 0; k < INPUTS; ++k)
            for (int c = 0; c < COUNT; ++c) sums[k][c] += inputs[n * apart + k] * own[c];
    }
    for (int k = 0; k < INPUTS; ++k)
        for (int c = 0; c < COUNT; ++c) adam.update(network, at + k * STRIDE + LANES * c, sums[k][c]);
}

// Calls tile(first row, rows as a constant, first vector, vectors as a constant) until `count` rows are covered. Tiles fit
// the registers: 32 with AVX-512, else 16.
#if defined(__AVX512F__)
constexpr int TILE_VECTORS = 6;
#else
constexpr int TILE_VECTORS = 3;
#endif
template <class TILE>
inline void tiled(int64_t count, const TILE& tile) {
    for (int first = 0; first < BODY; first += TILE_VECTORS) {
        int64_t r = 0;
        for (; r + 4 <= count; r += 4) tile(r, Count<4>{}, first, Count<TILE_VECTORS>{});
        for (; r < count; ++r) tile(r, Count<1>{}, first, Count<TILE_VECTORS>{});
    }
}

// The tail of hidden (ROWS, STRIDE) = inputs (ROWS, apart) times weights (TAIL, apart).
template <int ROWS>
inline void put_tail(const float* inputs, int64_t apart, const float* weights, float* hidden) {
    lanes sums[ROWS][TAIL] = {};
    for (int64_t k = 0; k < apart; k += LANES)
        for (int r = 0; r < ROWS; ++r)
            for (int u = 0; u < TAIL; ++u) sums[r][u] += get(inputs + r * apart + k) * get(weights + u * apart + k);
    for (int r = 0; r < ROWS; ++r)
        for (int u = 0; u < TAIL; ++u) hidden[r * STRIDE + LANES * BODY + u] = sum(sums[r][u]);
}

// Adam on the weights of COUNT vectors of inputs to the tail.
template <int COUNT>
inline void descend_tail(const Network& tail, const Adam& adam, int64_t k, const float* inputs, int64_t apart,
                         const float* back, int64_t size) {
    lanes sums[TAIL][COUNT] = {};
    for (int64_t n = 0; n < size; ++n)
        for (int u = 0; u < TAIL; ++u)
            for (int c = 0; c < COUNT; ++c)
                sums[u][c] += back[n * STRIDE + LANES * BODY + u] * get(inputs + n * apart + k + LANES * c);
    for (int u = 0; u < TAIL; ++u)
        for (int c = 0; c < COUNT; ++c) adam.update(tail, u * apart + k + LANES * c, sums[u][c]);
}

inline vf sigmoid(vf x) {
    const vf power = exp_of(x > 0 ? -x : x);
    return (x > 0 ? all(1) : power) / (1 + power);
}

// Row numbers of a batch, and the matrix that they are of.
struct Batch {
    const float* rows;
    const int32_t* order;
    int64_t size;
};

struct Step {
    const Network& network;
    const Network& tail;  // of its first layer, the weights to the tail: (TAIL, apart), zeros behind dim + 1
    const float* inputs;  // (size, apart), a one behind each row, and zeros
    int64_t apart, size;
    float *hidden, *back, *errors, *slopes;
    int32_t* filled;  // see each_slice

    // Calls work(first input, inputs, filled rows) for slices of the inputs, and puts the rows that are not all zero there
    // into `filled`. VLAWE gives zeros for every cluster that a sentence has no word of.
    template <class WORK>
    void each_slice(const WORK& work) const {
        for (int64_t k = 0; k < network.dim + 1; k += DEPTH) {
            const int64_t depth = network.dim + 1 - k < DEPTH ? network.dim + 1 - k : DEPTH;
            int64_t count = 0;
            for (int64_t n = 0; n < size; ++n) {
                const float* own = inputs + n * apart + k;
                int32_t any = own[0] != 0;
                for (int64_t at = 0; at < depth && !own[0]; ++at) any |= own[at] != 0;
                filled[count] = int32_t(n);
                count += any;
            }
            work(k, depth, count);
        }
    }

    void forward() const {
        for (int64_t at = 0; at < size * STRIDE; ++at) hidden[at] = 0;
        each_slice([&](int64_t k, int64_t depth, int64_t count) {
            tiled(count, [&](int64_t r, auto rows, int first, auto vectors) {
                add_products<decltype(rows)::value, decltype(vectors)::value>(
                    filled + r, inputs + k, apart, network.parameters + k * STRIDE + LANES * first, depth,
                    hidden + LANES * first);
            });
        });
        int64_t n = 0;
        for (; n + 4 <= size; n += 4) put_tail<4>(inputs + n * apart, apart, tail.parameters, hidden + n * STRIDE);
        for (; n < size; ++n) put_tail<1>(inputs + n * apart, apart, tail.parameters, hidden + n * STRIDE);
        for (int64_t at = 0; at < size * STRIDE; at += WIDTH)
            store(hidden + at, sigmoid(load(hidden + at, size * STRIDE - at)), size * STRIDE - at);
        for (n = 0; n < size; ++n)
            for (int64_t unit = HIDDEN_UNITS; unit < STRIDE; ++unit) hidden[n * STRIDE + unit] = 0;
    }

    // errors (size, classes): what the softmax gives minus what it should, over the size of the batch.
    void judge(const int32_t* labels, const int32_t* order) const {
        const float *second = network.parameters + network.second(), *bias = network.parameters + network.bias();
        const int64_t classes = network.classes;
        for (int64_t n = 0; n < size; ++n) {
            float highest = -__builtin_inff();
            for (int64_t c = 0; c < classes; ++c) {
                lanes products = {};
                for (int q = 0; q < VECTORS; ++q)
                    products += get(hidden + n * STRIDE + LANES * q) * get(second + c * STRIDE + LANES * q);
                const float logit = sum(products) + bias[c];
                errors[n * classes + c] = logit;
                highest = logit > highest ? logit : highest;
            }
            for (int64_t c = 0; c < classes; ++c) errors[n * classes + c] -= highest;
        }
        for (int64_t at = 0; at < size * classes; at += WIDTH)
            store(errors + at, exp_of(load(errors + at, size * classes - at)), size * classes - at);
        for (int64_t n = 0; n < size; ++n) {
            float total = 0;
            for (int64_t c = 0; c < classes; ++c) total += errors[n * classes + c];
            for (int64_t c = 0; c < classes; ++c) {
                const float wanted = labels[order[n]] == c;
                errors[n * classes + c] = (errors[n * classes + c] / total - wanted) / float(size);
            }
        }
    }

    // back (size, STRIDE): the gradient at the hidden layer's sums; slopes (classes, STRIDE): that of the second layer.
    void backward() const {
        const float* second = network.parameters + network.second();
        const int64_t classes = network.classes;
        for (int64_t at = 0; at < classes * STRIDE; ++at) slopes[at] = 0;
        for (int64_t n = 0; n < size; ++n)
            for (int q = 0; q < VECTORS; ++q) {
                const lanes own = get(hidden + n * STRIDE + LANES * q);
                lanes sums = {};
                for (int64_t c = 0; c < classes; ++c) {
                    const float error = errors[n * classes + c];
                    float* slope = slopes + c * STRIDE + LANES * q;
                    sums += error * get(second + c * STRIDE + LANES * q);
                    put(slope, get(slope) + error * own);
                }
                put(back + n * STRIDE + LANES * q, sums * (own - own * own));
            }
    }

    // Prefetches the next batch on the way: each input a cache line of every LINE-th row.
    void update(const Adam& adam, const Batch& next) const {
        each_slice([&](int64_t start, int64_t depth, int64_t count) {
            tiled(depth, [&](int64_t from, auto together, int first, auto vectors) {
                const int64_t k = start + from;
                for (int64_t ahead = k; first == 0 && ahead < k + decltype(together)::value; ++ahead)
                    for (int64_t n = ahead % LINE; n < next.size; n += LINE)
                        __builtin_prefetch(next.rows + next.order[n] * network.dim + ahead, 0, 2);
                descend<decltype(together)::value, decltype(vectors)::value>(
                    network, adam, k * STRIDE + LANES * first, inputs + k, apart, back + LANES * first, filled, count);
            });
        });
        int64_t k = 0;
        for (; k + 4 * LANES <= apart; k += 4 * LANES) descend_tail<4>(tail, adam, k, inputs, apart, back, size);
        for (; k < apart; k += 2 * LANES) descend_tail<2>(tail, adam, k, inputs, apart, back, size);
        for (int64_t at = 0; at < network.classes * STRIDE; at += LANES)
            adam.update(network, network.second() + at, get(slopes + at));
        for (int64_t c = 0; c < network.classes; c += LANES) {
            lanes slope = {};
            for (int64_t n = 0; n < size; ++n)
                for (int q = 0; q < LANES && c + q < network.classes; ++q)
                    slope[q] += errors[n * network.classes + c + q];
            adam.update(network, network.bias() + c, slope);
        }
    }
};

}  // namespace

namespace NOPPA_SET {

void network_steps(Network network, const float* rows, const int32_t* labels, const int32_t* order, int64_t count,
                   int64_t epoch, int64_t batch, float* scratch) {
    const int64_t dim = network.dim;
    const int64_t apart = (dim + 16) / 32 * 32 + 16;  // an odd number of cache lines: columns fall into all cache sets
    float* inputs = reinterpret_cast<float*>(aligned(scratch));
    float* hidden = inputs + batch * apart;
    float* back = hidden + batch * STRIDE;
    float* slopes = back + batch * STRIDE;
    float* errors = slopes + network.classes * STRIDE;
    int32_t* filled = reinterpret_cast<int32_t*>(errors + batch * network.classes);
    float* tails = reinterpret_cast<float*>(aligned(filled + batch));
    const int64_t tail_size = TAIL * apart;
    const Network tail{tails, tails + tail_size, tails + 2 * tail_size, dim, 0, network.l2, 0};
    const auto each_tail_weight = [&](const auto& copy) {
        for (int64_t k = 0; k < dim + 1; ++k)
            for (int u = 0; u < TAIL; ++u) {
                const int64_t own = k * STRIDE + LANES * BODY + u, in_tail = u * apart + k;
                copy(network.parameters[own], tail.parameters[in_tail]);
                copy(network.mean[own], tail.mean[in_tail]);
                copy(network.square[own], tail.square[in_tail]);
            }
    };
    for (int64_t at = 0; at < 3 * tail_size; ++at) tails[at] = 0;
    for (int64_t at = 0; at < batch * apart; ++at) inputs[at] = 0;
    each_tail_weight([](float own, float& in_tail) { in_tail = own; });
    for (int64_t start = 0; start < count; start += epoch)
        for (int64_t first = start; first < start + epoch && first < count; first += batch) {
            const int64_t end = start + epoch < count ? start + epoch : count;
            const int64_t size = end - first < batch ? end - first : batch;
            for (int64_t n = 0; n < size; ++n) {
                __builtin_memcpy(inputs + n * apart, rows + order[first + n] * dim, size_t(dim) * sizeof(float));
                inputs[n * apart + dim] = 1;
            }
            const Step step{network, tail, inputs, apart, size, hidden, back, errors, slopes, filled};
            step.forward();
            step.judge(labels, order + first);
            step.backward();
            const int64_t left = count - first - size;
            step.update(Adam(++network.steps, network.l2), {rows, order + first + size, left < batch ? left : batch});
        }
    each_tail_weight([](float& own, float in_tail) { own = in_tail; });
}

}  // namespace NOPPA_SET
}  // namespace noppa
