// Stochastic gradient descent for the two trained peers, FastSent and Sent2Vec, on one thread: the same seed gives the
// same bytes.
#pragma once

#include <cstdint>

namespace noppa {

struct Training {
    float* source;         // (words + buckets, dim): what sentences are made of
    float* target;         // (words, dim): what they predict
    const float* keep;     // (words,): the chance that a word is predicted at all
    const int32_t* noise;  // (noises,): words in proportion to how often they are drawn
    int64_t noises, words, buckets, dim;
    int64_t negatives;  // noise words against each true one
    float rate;
    uint64_t seed;
    bool
        adjacent;  // FastSent: a sentence predicts its neighbours; otherwise Sent2Vec: the rest of it predicts each word
    bool itself;   // FastSent: and its own words too
};

// One pass over sentences: ids (tokens,) below `words`, offsets (sentences + 1,).
void train(const Training& training, const int32_t* ids, const int64_t* offsets, int64_t sentences);

}  // namespace noppa
