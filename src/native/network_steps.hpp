// Steps of Adam on a network with one hidden layer of sigmoids and a softmax: SentEval's classifier.
#pragma once

#include <cstdint>

#include "kernel_constants.hpp"
#include "sizes.hpp"

namespace noppa {

// Parameters, and Adam's two moments, are `size` floats each: first-layer weights and bias (dim + 1, HIDDEN_STRIDE), then
// the second layer (classes, HIDDEN_STRIDE), then its bias (classes, padded). Units from HIDDEN_UNITS on are padding: 0.
struct Network {
    float* parameters;
    float* mean;
    float* square;
    int64_t dim;
    int64_t classes;
    float l2;
    int64_t steps;  // taken before

    int64_t second() const { return times(dim + 1, HIDDEN_STRIDE); }
    int64_t bias() const { return second() + times(classes, HIDDEN_STRIDE); }
    int64_t size() const { return bias() + (classes + 7) / 8 * 8; }
};

// One step for each batch of `batch` entries of `order`, whose `count` row numbers fall into epochs of `epoch`; an epoch
// may end in a smaller batch. There is one such function per instruction set.
using NetworkSteps = void(Network, const float* rows, const int32_t* labels, const int32_t* order, int64_t count,
                          int64_t epoch, int64_t batch, float* scratch);

// Floats of scratch that NetworkSteps needs, from any address on.
inline int64_t network_scratch(const Network& network, int64_t batch) {
    const int64_t inputs = times(batch + 3 * (HIDDEN_UNITS % 8), network.dim + 64),
                  hidden = 2 * times(batch, HIDDEN_STRIDE);
    return inputs + hidden + times(batch, network.classes + 1) + times(network.classes, HIDDEN_STRIDE) + 256;
}

namespace base {
NetworkSteps network_steps;
}
namespace v3 {
NetworkSteps network_steps;
}
namespace v4 {
NetworkSteps network_steps;
}

}  // namespace noppa
