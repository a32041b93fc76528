// Ids to vectors: the methods, and the steps after them.
#include "binding/arguments.hpp"
#include "binding/arrays.hpp"
#include "binding/steps.hpp"
#include "binding/table.hpp"
#include "binding/topics.hpp"
#include "pooling/batch.hpp"
#include "pooling/instruction_sets.hpp"

namespace noppa::binding {
namespace {

struct PyPooling {
    Pooling pooling;
    const std::string name;

    PyPooling(const std::string& name, const PyTable& table, nb::dict arguments)
        : pooling(name, table.table, arguments_of(name, arguments)), name(name) {}

    // Rows (sentences, width after the last step) and known (sentences,).
    nb::tuple call(Array1<int32_t> ids, Array1<int64_t> offsets, const PySteps& steps, int threads) const {
        const int64_t tokens = int64_t(ids.shape(0));
        const SentenceCounts counts = checked_offsets(offsets, tokens);
        for (int64_t t = 0; t < tokens; ++t)
            require(ids(size_t(t)) >= DROPPED && ids(size_t(t)) <= pooling.table.words, "an id is no word");
        const int64_t longest = pooling.method(live_set()).longest;
        if (counts.longest > longest)
            throw std::invalid_argument(name + " was made for sentences of up to " + std::to_string(longest) +
                                        " tokens, and one has " + std::to_string(counts.longest));
        require(steps.take(pooling.width), "the first step does not fit the pooled rows");
        const NewArray<float> rows(counts.sentences, steps.width_after(pooling.width));
        const NewArray<int32_t> known(counts.sentences);
        {
            nb::gil_scoped_release released;
            pool_batch(pooling, {ids.data(), offsets.data(), counts.sentences}, steps.steps, threads, rows.data(),
                       known.data());
        }
        return nb::make_tuple(rows.object(), known.object());
    }
};

nb::object apply_steps_py(Array2<float> pooled, std::optional<Array1<int32_t>> known, const PySteps& steps,
                          int threads) {
    const int64_t width = int64_t(pooled.shape(1));
    require(steps.take(width), "the steps do not fit the rows");
    require(!known || known->shape(0) == pooled.shape(0), "one count a row");
    const NewArray<float> rows(pooled.shape(0), steps.width_after(width));
    {
        nb::gil_scoped_release released;
        apply_steps(pooled.data(), width, known ? known->data() : nullptr, int64_t(pooled.shape(0)), steps.steps,
                    threads, rows.data());
    }
    return rows.object();
}

}  // namespace

void bind_pooling(nb::module_& module) {
    nb::class_<PyTable>(module, "Table")
        .def(nb::init<AnyMatrix, std::optional<Scales>, std::vector<int64_t>, std::vector<int64_t>>(), "matrix"_a,
             "scales"_a.none(), "blocks"_a = std::vector<int64_t>{}, "bits"_a = std::vector<int64_t>{});
    nb::class_<PySteps>(module, "Steps").def(nb::init<nb::list>(), "steps"_a);
    nb::list names;
    for (const std::string& name : method_names()) names.append(name);
    module.attr("POOLINGS") = nb::tuple(names);
    nb::class_<PyPooling>(module, "Pooling")
        .def(nb::init<const std::string&, const PyTable&, nb::dict>(), "name"_a, "table"_a, "arguments"_a,
             nb::keep_alive<1, 3>())
        .def_prop_ro("width", [](const PyPooling& pooling) { return pooling.pooling.width; })
        .def("__call__", &PyPooling::call, "ids"_a, "offsets"_a, "steps"_a, "threads"_a);
    module.def("apply_steps", &apply_steps_py, "pooled"_a, "known"_a.none(), "steps"_a, "threads"_a);
}

}  // namespace noppa::binding
