// The methods beside NoPPA, one sentence at a time: sums of word vectors, and what is made of them.
#pragma once

#include "kernels.hpp"

namespace noppa {

// One method with its arrays. A method reads only the fields named after it.
struct Pooling {
    enum Kind : int { MEAN = 0, DCT = 1, RESIDUALS = 2, COVARIANCE = 3, GEM = 4 } kind;
    // MEAN divides by the number of tokens, by the sum of their weights, or by one.
    enum Divisor : int { TOKENS = 0, WEIGHTS = 1, ONE = 2 } divisor;
    bool scaled;               // MEAN: each dimension over its norm across the sentence's words (uSIF's program)
    bool average;              // COVARIANCE: the weighted average comes first
    bool published;            // COVARIANCE: each word once, and w v - c in place of w (v - c) (S3E's program)
    float power;               // RESIDUALS
    const float* weights;      // MEAN, RESIDUALS, COVARIANCE: (words + 1,), or null for ones
    const int32_t* labels;     // RESIDUALS, COVARIANCE: the slot of each word, (words + 1,)
    const float* centroids;    // RESIDUALS, COVARIANCE: (slots, dim)
    const double* directions;  // GEM: (slots, dim)
    const double* values;      // GEM: (slots,)
    int64_t slots;             // coefficients of DCT, clusters, directions of GEM; 1 for MEAN
    int64_t window;            // GEM: words on either side
    int64_t removed;           // GEM: directions taken out of each sentence
    int64_t width;             // numbers of a row: `dim`, slots · dim, or what COVARIANCE makes of them
};

struct Pools {
    // Bytes of scratch for a sentence of n tokens.
    size_t (*scratch)(const Table&, const Pooling&, int64_t tokens);
    // One sentence to one row; returns how many of its tokens were known.
    int64_t (*pool)(const Table&, const Pooling&, const int32_t* ids, int64_t tokens, void* scratch, float* row);
};

const Pools& pools_base();
const Pools& pools_v3();
const Pools& pools_v4();

}  // namespace noppa
