// The trainer of SentEval's classifier.
#include "network_steps.hpp"

#include <cmath>
#include <vector>

#include "binding/arrays.hpp"
#include "binding/topics.hpp"
#include "pooling/instruction_sets.hpp"

namespace noppa::binding {
namespace {

// Changes state in place, which is why it may not be a converted copy.
void network_steps_py(nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu> state, Array2<float> rows,
                      Array1<int32_t> labels, Array1<int32_t> order, int64_t epoch, int64_t batch, int64_t classes,
                      float l2, int64_t steps) {
    const int64_t dim = checked_size(int64_t(rows.shape(1)), "rows of too many columns");
    require(classes >= 1 && classes <= WIDEST && batch >= 1 && batch <= WIDEST && epoch >= 1 && steps >= 0,
            "classes, batch and epoch must be at least 1");
    require(std::isfinite(l2), "l2 must be finite");
    require(labels.shape(0) == rows.shape(0), "one label a row");
    for (size_t n = 0; n < labels.shape(0); ++n) require(labels(n) >= 0 && labels(n) < classes, "a label is no class");
    for (size_t n = 0; n < order.shape(0); ++n)
        require(order(n) >= 0 && size_t(order(n)) < rows.shape(0), "order names a row that is not there");
    Network network{nullptr, nullptr, nullptr, dim, classes, l2, steps};
    require(state.shape(0) == 3 && int64_t(state.shape(1)) == network.size(), "state does not fit the network");
    network.parameters = state.data();
    network.mean = network.parameters + network.size();
    network.square = network.mean + network.size();
    const NetworkSteps* take_steps = compiled_sets()[live_set()].network_steps;
    nb::gil_scoped_release released;
    std::vector<float> scratch(size_t(network_scratch(network, batch)));
    take_steps(network, rows.data(), labels.data(), order.data(), int64_t(order.shape(0)), epoch, batch,
               scratch.data());
}

}  // namespace

void bind_network_steps(nb::module_& module) {
    module.def("network_steps", &network_steps_py, "state"_a.noconvert(), "rows"_a, "labels"_a, "order"_a, "epoch"_a,
               "batch"_a, "classes"_a, "l2"_a, "steps"_a);
}

}  // namespace noppa::binding
