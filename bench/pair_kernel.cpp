// The sums over pairs alone, in the nearest cache: `pair_kernel.py` compiles this for one instruction set and runs it.
#include <time.h>

#include <cstdio>
#include <vector>

#include "methods/pair_sums.hpp"

namespace {

constexpr int64_t TOKENS = 8, DIM = 300, STRIDE = 19 * 16, PAIRS = TOKENS * (TOKENS - 1) / 2;

double nanoseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return double(now.tv_sec) * 1e9 + double(now.tv_nsec);
}

// Nanoseconds of a pair of words whose numbers lie within `reach` of each other: the least of many short runs.
double measure(SumPairs* sum, float reach) {
    std::vector<float> room(TOKENS * STRIDE + 16), sums(PAIR_SUMS * STRIDE + 16);
    float* vectors = reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(room.data()) + 63) / 64 * 64);
    uint32_t state = 1;
    for (int64_t t = 0; t < TOKENS; ++t)
        for (int64_t m = 0; m < DIM; ++m)
            vectors[t * STRIDE + m] = reach * float((state = state * 1664525u + 1013904223u) >> 8) / 16777216.0f;
    std::vector<Pair> pairs;
    for (int64_t i = 0; i < TOKENS; ++i)
        for (int64_t j = i + 1; j < TOKENS; ++j) pairs.push_back({i * STRIDE, j * STRIDE, 1.0f / PAIRS});
    const Attention words{TOKENS, DIM, STRIDE, vectors, nullptr, nullptr, nullptr, nullptr};
    const Tile tile{0, TOKENS, 0, TOKENS};
    double best = 1e30;
    for (int run = 0; run < 2000; ++run) {
        const double start = nanoseconds();
        for (int again = 0; again < 20; ++again) sum(words, tile, pairs.data(), PAIRS, sums.data());
        const double each = (nanoseconds() - start) / (20.0 * PAIRS);
        if (each < best) best = each;
    }
    return best;
}

}  // namespace

int main() {
    const float reaches[] = {0.9f, 1.9f, 3.9f, 8.0f};
    for (const float reach : reaches)
        for (const bool ordered : {false, true})
            std::printf("%.1f %d %.3f\n", double(reach), ordered,
                        measure(sum_by(noppa::PAIR_KERNEL_LOG2, ordered, false), reach));
    std::printf("0 0 %.3f\n", measure(sum_by(noppa::PAIR_KERNEL_SQUARE, false, false), 1.9f));
}
