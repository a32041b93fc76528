// Ids to vectors: the methods, and the steps after them.
#include <algorithm>

#include "batch.hpp"
#include "binding/arrays.hpp"
#include "binding/kept.hpp"
#include "binding/topics.hpp"

namespace noppa::binding {
namespace {

// Flat ids that were checked: offsets that rise from 0 to the number of ids, and ids that are words.
Batch checked_batch(const Table& table, const Array1<int32_t>& ids, const Array1<int64_t>& offsets) {
    const int64_t tokens = int64_t(ids.shape(0)), sentences = checked_offsets(offsets, tokens);
    for (int64_t t = 0; t < tokens; ++t)
        require(ids(size_t(t)) >= DROPPED && ids(size_t(t)) <= table.words, "an id is no word");
    return {ids.data(), offsets.data(), sentences};
}

const float* checked_weights(const Table& table, const std::optional<Array1<float>>& weights) {
    require(!weights || int64_t(weights->shape(0)) == table.words + 1, "one weight a word and one for the zero word");
    return weights ? weights->data() : nullptr;
}

int64_t checked_width(int64_t width) { return checked_size(width, "a row of more numbers than can be counted"); }

// Rows (sentences, width after the last step) and known (sentences,), filled by `pool` without the GIL.
template <class Pool>
nb::tuple pooled(const Batch& batch, int64_t width, const PySteps& steps, Pool pool) {
    require(steps.take(width), "the first step does not fit the pooled rows");
    auto rows = empty<float>(batch.sentences, steps.width_after(width));
    auto known = empty<int32_t>(batch.sentences);
    {
        nb::gil_scoped_release released;
        pool(rows.data(), known.data());
    }
    return nb::make_tuple(nb::cast(rows), nb::cast(known));
}

nb::tuple pool_noppa_py(const PyTable& table, std::optional<Array1<float>> weights, std::optional<Array2<float>> positions,
                        int kernel, bool attend_self, bool dropped_take_position, std::vector<int32_t> parts,
                        Array1<int32_t> ids, Array1<int64_t> offsets, const PySteps& steps, int threads) {
    const int64_t dim = table.table.dim;
    const Batch batch = checked_batch(table.table, ids, offsets);
    const int64_t wide = (dim + POSITION_UNIT - 1) / POSITION_UNIT * POSITION_UNIT;
    require(!positions || int64_t(positions->shape(1)) == wide, "positions of the wrong width");
    int64_t longest = 0;
    for (int64_t s = 0; s < batch.sentences; ++s) longest = std::max(longest, batch.offsets[s + 1] - batch.offsets[s]);
    require(!positions || int64_t(positions->shape(0)) >= longest, "too few positions");
    require(kernel >= LOG2 && kernel <= SQUARE, "no such kernel");
    bool context = false, word = false;
    for (const int32_t part : parts) {
        require(part >= CONTEXT && part != COSINE, "no such part");
        context = context || part == CONTEXT || part == ORDERED || part == PRODUCT;
        word = word || part == WORD;
    }
    const Noppa noppa{checked_weights(table.table, weights), positions ? positions->data() : nullptr,
                      kernel, attend_self, dropped_take_position, context, word, parts.data(), int64_t(parts.size()),
                      checked_width(times(dim, int64_t(parts.size())))};
    return pooled(batch, noppa.width, steps, [&](float* rows, int32_t* known) {
        pool_noppa(table.table, noppa, batch, steps.steps, threads, rows, known);
    });
}

int64_t width_of(const Pooling& pooling, int64_t dim) {
    switch (pooling.kind) {
        case Pooling::DCT:
        case Pooling::RESIDUALS: return times(pooling.slots, dim);
        case Pooling::COVARIANCE: return (pooling.average ? dim : 0) + times(pooling.slots, pooling.slots + 1) / 2;
        default: return dim;
    }
}

nb::tuple pool_words_py(const Table& table, Pooling& pooling, const Array1<int32_t>& ids,
                        const Array1<int64_t>& offsets, const PySteps& steps, int threads) {
    const Batch batch = checked_batch(table, ids, offsets);
    pooling.slots = checked_size(pooling.slots, "too many coefficients, clusters or directions");
    pooling.width = checked_width(width_of(pooling, table.dim));
    return pooled(batch, pooling.width, steps, [&](float* rows, int32_t* known) {
        pool_words(table, pooling, batch, steps.steps, threads, rows, known);
    });
}

nb::tuple pool_mean_py(const PyTable& table, std::optional<Array1<float>> weights, int divisor, bool scaled,
                       Array1<int32_t> ids, Array1<int64_t> offsets, const PySteps& steps, int threads) {
    require(divisor >= Pooling::TOKENS && divisor <= Pooling::ONE, "no such divisor");
    Pooling pooling{};
    pooling.kind = Pooling::MEAN;
    pooling.divisor = Pooling::Divisor(divisor);
    pooling.scaled = scaled;
    pooling.weights = checked_weights(table.table, weights);
    pooling.slots = 1;
    return pool_words_py(table.table, pooling, ids, offsets, steps, threads);
}

nb::tuple pool_dct_py(const PyTable& table, int64_t k, Array1<int32_t> ids, Array1<int64_t> offsets,
                      const PySteps& steps, int threads) {
    require(k >= 1, "at least one coefficient");
    Pooling pooling{};
    pooling.kind = Pooling::DCT;
    pooling.slots = k;
    return pool_words_py(table.table, pooling, ids, offsets, steps, threads);
}

Pooling clustered(Pooling::Kind kind, const Table& table, const std::optional<Array1<float>>& weights,
                  const Array1<int32_t>& labels, const Array2<float>& centroids) {
    Pooling pooling{};
    pooling.kind = kind;
    pooling.weights = checked_weights(table, weights);
    pooling.labels = labels.data();
    pooling.centroids = centroids.data();
    pooling.slots = int64_t(centroids.shape(0));
    require(pooling.slots >= 1 && int64_t(centroids.shape(1)) == table.dim, "centroids of the wrong shape");
    require(int64_t(labels.shape(0)) == table.words + 1, "one label a word and one for the zero word");
    for (size_t w = 0; w < labels.shape(0); ++w) require(labels(w) >= 0 && labels(w) < pooling.slots, "no such cluster");
    return pooling;
}

nb::tuple pool_vlawe_py(const PyTable& table, Array1<int32_t> labels, Array2<float> centroids, float power,
                        Array1<int32_t> ids, Array1<int64_t> offsets, const PySteps& steps, int threads) {
    Pooling pooling = clustered(Pooling::RESIDUALS, table.table, std::nullopt, labels, centroids);
    pooling.power = power;
    return pool_words_py(table.table, pooling, ids, offsets, steps, threads);
}

nb::tuple pool_s3e_py(const PyTable& table, std::optional<Array1<float>> weights, Array1<int32_t> labels,
                      Array2<float> centroids, bool average, bool published, Array1<int32_t> ids,
                      Array1<int64_t> offsets, const PySteps& steps, int threads) {
    Pooling pooling = clustered(Pooling::COVARIANCE, table.table, weights, labels, centroids);
    pooling.average = average;
    pooling.published = published;
    return pool_words_py(table.table, pooling, ids, offsets, steps, threads);
}

nb::tuple pool_gem_py(const PyTable& table, Array2<double> directions, Array1<double> values, int64_t window,
                      int64_t removed, Array1<int32_t> ids, Array1<int64_t> offsets, const PySteps& steps, int threads) {
    Pooling pooling{};
    pooling.kind = Pooling::GEM;
    pooling.directions = directions.data();
    pooling.values = values.data();
    pooling.slots = int64_t(directions.shape(0));
    pooling.window = window;
    pooling.removed = removed;
    require(int64_t(directions.shape(1)) == table.table.dim && values.shape(0) == directions.shape(0),
            "directions of the wrong shape");
    require(window >= 1 && removed >= 1 && removed <= pooling.slots, "no such window or number of directions");
    return pool_words_py(table.table, pooling, ids, offsets, steps, threads);
}

nb::object apply_steps_py(Array2<float> pooled, std::optional<Array1<int32_t>> known, const PySteps& steps, int threads) {
    const int64_t width = int64_t(pooled.shape(1));
    require(steps.take(width), "the steps do not fit the rows");
    require(!known || known->shape(0) == pooled.shape(0), "one count a row");
    auto rows = empty<float>(pooled.shape(0), steps.width_after(width));
    {
        nb::gil_scoped_release released;
        apply_steps(pooled.data(), width, known ? known->data() : nullptr, int64_t(pooled.shape(0)), steps.steps,
                    threads, rows.data());
    }
    return nb::cast(rows);
}

}  // namespace

void bind_pooling(nb::module_& module) {
    nb::class_<PyTable>(module, "Table")
        .def(nb::init<AnyMatrix, std::optional<Scales>, std::vector<int64_t>>(), "matrix"_a, "scales"_a.none(),
             "blocks"_a = std::vector<int64_t>{});
    nb::class_<PySteps>(module, "Steps").def(nb::init<nb::list>(), "steps"_a);
    module.def("pool_noppa", &pool_noppa_py, "table"_a, "weights"_a.none(), "positions"_a.none(), "kernel"_a,
               "attend_self"_a, "dropped_take_position"_a, "parts"_a, "ids"_a, "offsets"_a, "steps"_a,
               "threads"_a);
    module.def("pool_mean", &pool_mean_py, "table"_a, "weights"_a.none(), "divisor"_a, "scaled"_a, "ids"_a, "offsets"_a,
               "steps"_a, "threads"_a);
    module.def("pool_dct", &pool_dct_py, "table"_a, "k"_a, "ids"_a, "offsets"_a, "steps"_a, "threads"_a);
    module.def("pool_vlawe", &pool_vlawe_py, "table"_a, "labels"_a, "centroids"_a, "power"_a, "ids"_a, "offsets"_a,
               "steps"_a, "threads"_a);
    module.def("pool_s3e", &pool_s3e_py, "table"_a, "weights"_a.none(), "labels"_a, "centroids"_a, "average"_a,
               "published"_a, "ids"_a, "offsets"_a, "steps"_a, "threads"_a);
    module.def("pool_gem", &pool_gem_py, "table"_a, "directions"_a, "values"_a, "window"_a, "removed"_a, "ids"_a,
               "offsets"_a, "steps"_a, "threads"_a);
    module.def("apply_steps", &apply_steps_py, "pooled"_a, "known"_a.none(), "steps"_a, "threads"_a);
}

}  // namespace noppa::binding
