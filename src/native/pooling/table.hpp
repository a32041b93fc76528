// Word vectors as they are stored.
#pragma once

#include <cstdint>

namespace noppa {

enum Storage : int { FLOAT32 = 0, FLOAT16 = 1, INT8 = 2 };

// Matrix (words, dim), its rows `stride` numbers apart. Row `id` of an 8-bit matrix is scaled by scales[id * blocks + b] in
// the columns from edges[b] up to edges[b + 1].
struct Table {
    const void* rows;
    const float* scales;
    const int64_t* edges;
    int storage;
    int64_t words;
    int64_t dim;
    int64_t stride;
    int64_t blocks;
};

}  // namespace noppa
