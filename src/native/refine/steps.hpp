// Refinement of pooled rows: what `noppa.refine` fitted, as three kinds of linear algebra.
#pragma once

#include <cstdint>

#include "kernel_constants.hpp"

namespace noppa {

// Subtracts right' (left x - bias), or gives matrix' x + bias, or scales to length one.
struct Step {
    int64_t kind;        // STEP_REMOVE, … of kernel_constants.hpp
    const float* left;   // REMOVE (k, in); MAP (in, out)
    const float* right;  // REMOVE (k, in)
    const float* bias;   // REMOVE (k,); MAP (out,)
    int64_t inner;       // REMOVE k, else 0
    int64_t in;
    int64_t out;
};

// rows (count, in) to out (count, out), which is other memory; scratch holds 4 · inner floats. A row gets the same bytes in
// any batch. There is one such function per instruction set.
using ApplyStep = void(const Step&, const float* rows, int64_t count, float* scratch, float* out);

namespace base {
ApplyStep apply_step;
}
namespace v3 {
ApplyStep apply_step;
}
namespace v4 {
ApplyStep apply_step;
}

}  // namespace noppa
