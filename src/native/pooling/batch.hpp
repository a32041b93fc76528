// Whole batches over the worker threads: ids to pooled and refined rows.
#pragma once

#include <cstdint>
#include <vector>

#include "pooling/pooling.hpp"
#include "refine/steps.hpp"

namespace noppa {

struct Batch {
    const int32_t* ids;      // (tokens,)
    const int64_t* offsets;  // (sentences + 1,)
    int64_t sentences;
};

// rows (sentences, width after the last step); known (sentences,) counts the tokens that were not dropped. A sentence with
// none is a row of zeros, whatever the steps.
void pool_batch(const Pooling& pooling, const Batch& batch, const std::vector<Step>& steps, int threads, float* rows,
                int32_t* known);

// The steps alone, on pooled rows (count, width); known as above, or null.
void apply_steps(const float* pooled, int64_t width, const int32_t* known, int64_t count,
                 const std::vector<Step>& steps, int threads, float* rows);

}  // namespace noppa
