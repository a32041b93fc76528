// Rows as 8-bit codes, with a bound of what that loses: a fast dot product that never underrates a cosine by more than it says.
//
// Declared once per instruction set, as in refine/steps.hpp.
#pragma once

#include <cstdint>

namespace noppa {

// A row x of length 1 or 0 is about scale · code; error is the length of what is missing, rounded up.
struct CodedRow {
    float scale, error;
};

// How many queries share each load of a row.
constexpr int64_t QUERIES = 4;

struct CodeKernels {
    // code (dim,) of a row (dim,).
    CodedRow (*encode)(const float* row, int64_t dim, int8_t* code);
    // dots (QUERIES, count) of queries (QUERIES, dim), widened codes, with codes (count, dim).
    void (*dots)(const int16_t* queries, const int8_t* codes, int64_t count, int64_t dim, int32_t* dots);
    // dots (count,) of one query (dim,) with codes (count, dim).
    void (*dots_of_one)(const int16_t* query, const int8_t* codes, int64_t count, int64_t dim, int32_t* dots);
    // The dot product of two rows as they are, summed in one order.
    float (*exact)(const float* a, const float* b, int64_t dim);
};

namespace base {
extern const CodeKernels code_kernels;
}
namespace v3 {
extern const CodeKernels code_kernels;
}
namespace v4 {
extern const CodeKernels code_kernels;
}

}  // namespace noppa
