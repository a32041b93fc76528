// The trainer of FastSent and Sent2Vec.
#include <cmath>

#include "binding/arrays.hpp"
#include "binding/topics.hpp"
#include "kernel_constants.hpp"
#include "training.hpp"

namespace noppa::binding {
namespace {

// Changes source and target in place, which is why neither may be a converted copy.
void train_py(nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu> source,
              nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu> target, Array1<float> keep,
              Array1<int32_t> noise, int64_t negatives, float rate, uint64_t seed, bool adjacent, bool itself,
              Array1<int32_t> ids, Array1<int64_t> offsets) {
    const int64_t words = int64_t(target.shape(0));
    require(source.shape(1) == target.shape(1) && source.shape(0) >= target.shape(0), "source does not fit target");
    require(int64_t(source.shape(0)) <= WIDEST, "source has more rows than can be counted");
    require(negatives >= 0 && negatives <= MOST_NEGATIVES,
            "negatives must be between 0 and MOST_NEGATIVES of noppa.constants");
    require(std::isfinite(rate), "rate must be finite");
    require(int64_t(keep.shape(0)) == words && noise.shape(0) > 0, "keep or noise does not fit the words");
    for (size_t n = 0; n < noise.shape(0); ++n) require(noise(n) >= 0 && noise(n) < words, "noise is no word");
    for (size_t t = 0; t < ids.shape(0); ++t) require(ids(t) >= 0 && ids(t) < words, "an id is no word");
    const int64_t sentences = checked_offsets(offsets, int64_t(ids.shape(0))).sentences;
    const Training training{source.data(),
                            target.data(),
                            keep.data(),
                            noise.data(),
                            int64_t(noise.shape(0)),
                            words,
                            int64_t(source.shape(0)) - words,
                            int64_t(target.shape(1)),
                            negatives,
                            rate,
                            seed,
                            adjacent,
                            itself};
    nb::gil_scoped_release released;
    train(training, ids.data(), offsets.data(), sentences);
}

}  // namespace

void bind_training(nb::module_& module) {
    module.def("train", &train_py, "source"_a.noconvert(), "target"_a.noconvert(), "keep"_a, "noise"_a, "negatives"_a,
               "rate"_a, "seed"_a, "adjacent"_a, "itself"_a, "ids"_a, "offsets"_a);
}

}  // namespace noppa::binding
