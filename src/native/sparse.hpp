// Products of sparse rows with a dense matrix: what training a classifier on n-grams spends its time on.
#pragma once

#include <cstdint>

namespace noppa {

// out (rows, columns) = sparse @ matrix, where row r has `values` at the columns `ids` from offsets[r] to offsets[r + 1].
// Each row is summed in its own order, whatever the number of threads.
void sparse_product(const float* values, const int32_t* ids, const int64_t* offsets, int64_t rows, const float* matrix,
                    int64_t columns, float* out, int threads);

}  // namespace noppa
