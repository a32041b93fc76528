#include "sparse.hpp"

#include <vector>

#include "workers.hpp"

namespace noppa {
namespace {

constexpr int64_t MOST_ROWS = 4096;             // of a task
constexpr double ROW_COST = 5, ADD_COST = 0.3;  // nanoseconds

}  // namespace

void sparse_product(const float* values, const int32_t* ids, const int64_t* offsets, int64_t rows, const float* matrix,
                    int64_t columns, float* out, int threads) {
    const auto cost = [&](int64_t row) {
        return ROW_COST + ADD_COST * double(offsets[row + 1] - offsets[row] + 1) * double(columns);
    };
    const std::vector<int64_t> bounds = cut_by_cost(rows, threads, MOST_ROWS, cost);
    run_tasks(int64_t(bounds.size()) - 1, threads, [&](int64_t task) {
        for (int64_t row = bounds[size_t(task)]; row < bounds[size_t(task) + 1]; ++row) {
            float* sum = out + row * columns;
            for (int64_t c = 0; c < columns; ++c) sum[c] = 0;
            for (int64_t at = offsets[row]; at < offsets[row + 1]; ++at) {
                const float value = values[at];
                const float* line = matrix + ids[at] * columns;
                for (int64_t c = 0; c < columns; ++c) sum[c] += value * line[c];
            }
        }
    });
}

}  // namespace noppa
