// Dot products of stored rows with queries.
#pragma once

#include <cstdint>

#include "pooling/table.hpp"

namespace noppa {

// out (queries, count): the dot product of each query (queries, dim) with the rows `ids` (count,) of a table; scratch holds
// dim floats. A pair gets the same bytes among any others. There is one such function per instruction set.
using DotRows = void(const Table&, const int32_t* ids, int64_t count, const float* queries, int64_t query_count,
                     float* scratch, float* out);

namespace base {
DotRows dot_rows;
}
namespace v3 {
DotRows dot_rows;
}
namespace v4 {
DotRows dot_rows;
}

}  // namespace noppa
