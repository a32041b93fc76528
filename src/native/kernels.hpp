// The hot loops, without Python and without the standard library's templates: each instruction set compiles them anew,
// and a template shared between two sets could be linked in the wrong one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace noppa {

enum Storage : int { FLOAT32 = 0, FLOAT16 = 1, INT8 = 2 };
enum PairKernel : int { LOG2 = 0, ABSOLUTE = 1, SQUARE = 2 };
// What NoPPA concatenates; COSINE + k is the k-th coefficient of a cosine transform.
enum Part : int { CONTEXT = 0, WORD = 1, ORDERED = 2, PRODUCT = 3, LARGEST = 4, SMALLEST = 5, SPREAD = 6, COSINE = 7 };

// Word vectors as they are stored: matrix (words, dim), its rows `stride` numbers apart. Row `id` of 8 bits has the scale
// scales[id * blocks + b] in its columns from edges[b] up to edges[b + 1].
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

// Ids outside the vocabulary: `words` itself is the zero word, DROPPED is passed over.
constexpr int32_t DROPPED = -1;

// Positions come padded with zeros to a multiple of this many floats: whole vectors of any instruction set.
constexpr int64_t POSITION_UNIT = 32;

// What NoPPA needs besides the words: weights (words + 1,) or null for ones, positions (tokens, padded dim) or null.
struct Noppa {
    const float* weights;
    const float* positions;
    int kernel;
    bool attend_self;
    bool dropped_take_position;
    bool context;         // whether any part is one of pairs
    bool word;
    const int32_t* parts;  // (part_count,): what a row consists of, in order
    int64_t part_count;
    int64_t width;         // numbers of a row: parts · dim
};

// One thing done to a pooled row: subtract right' (left x - bias), or matrix' x + bias, or scale to length one.
struct Step {
    enum Kind : int { REMOVE = 0, MAP = 1, NORMALISE = 2 } kind;
    const float* left;   // REMOVE (k, in); MAP (in, out)
    const float* right;  // REMOVE (k, in)
    const float* bias;   // REMOVE (k,); MAP (out,)
    int64_t inner;       // REMOVE k, else 0
    int64_t in;
    int64_t out;
};

struct Pools;  // pooling.hpp: the methods beside NoPPA

struct Kernels {
    const char* name;
    // Bytes of scratch for a sentence of n tokens.
    size_t (*noppa_scratch)(int64_t tokens, int64_t dim);
    // One sentence to one row; returns how many of its tokens were known.
    int64_t (*noppa)(const Table&, const Noppa&, const int32_t* ids, int64_t tokens, void* scratch, float* row);
    // rows (count, in) to out (count, out), which is other memory; scratch holds 4 · inner floats. A row gets the same
    // bytes in any company.
    void (*step)(const Step&, const float* rows, int64_t count, float* scratch, float* out);
    const Pools* pools;
};

const Kernels& kernels_base();
const Kernels& kernels_v3();
const Kernels& kernels_v4();

}  // namespace noppa
