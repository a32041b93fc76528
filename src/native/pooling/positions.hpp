// How positions of words come across the binding.
#pragma once

#include <cstdint>

namespace noppa {

// Rows of positions are padded with zeros to a multiple of this many floats: whole vectors of any instruction set.
constexpr int64_t POSITION_UNIT = 32;

}  // namespace noppa

namespace {

inline int64_t rounded_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }
inline int64_t padded(int64_t dim) { return rounded_up(dim, noppa::POSITION_UNIT); }

}  // namespace
