// How positions of words come across the binding.
#pragma once

#include <cstdint>

#include "kernel_constants.hpp"

namespace {

inline int64_t rounded_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }
inline int64_t padded(int64_t dim) { return rounded_up(dim, noppa::POSITION_UNIT); }

}  // namespace
