// Near-duplicates among rows.
#include <mutex>

#include "binding/arrays.hpp"
#include "binding/topics.hpp"
#include "duplicates/leaders.hpp"

namespace noppa::binding {
namespace {

// The sum of so many products of two codes fits into int32.
constexpr int64_t MOST_CODED = 1 << 16;

void check_cells(const Array2<float>& rows, const Array2<float>& centroids, int64_t probes) {
    require(rows.shape(1) == centroids.shape(1), "rows and centroids differ in their dimensions");
    require(rows.shape(1) >= 1 && int64_t(rows.shape(1)) <= MOST_CODED, "rows of 1 to 65536 dimensions can be coded");
    require(int64_t(centroids.shape(0)) <= WIDEST, "more cells than can be counted");
    require(probes >= 1 && probes <= int64_t(centroids.shape(0)), "probes must be between 1 and the number of cells");
}

nb::object nearest_cells_py(Array2<float> rows, Array2<float> centroids, int64_t probes, int threads) {
    check_cells(rows, centroids, probes);
    const int64_t count = int64_t(rows.shape(0)), dim = int64_t(rows.shape(1));
    const NewArray<int32_t> cells(count, probes);
    {
        nb::gil_scoped_release released;
        nearest_cells(coded(centroids.data(), int64_t(centroids.shape(0)), dim), rows.data(), count, dim, probes,
                      threads, cells.data());
    }
    return cells.object();
}

struct PyLeaders {
    Array2<float> vectors;  // held, since the leaders borrow it
    Leaders leaders;
    std::mutex lock;  // calls from several threads wait for each other

    PyLeaders(Array2<float> vectors, Array2<float> centroids, int64_t probes, int64_t homes, float threshold,
              int64_t reference)
        : vectors((check_cells(vectors, centroids, probes), vectors)),
          leaders(vectors.data(), int64_t(vectors.shape(0)), int64_t(vectors.shape(1)), centroids.data(),
                  int64_t(centroids.shape(0)), probes, homes, threshold, reference) {
        require(homes >= 1 && homes <= probes, "homes must be between 1 and the probes");
    }

    // Leaders and cosines of the next rows, up to `count`.
    nb::tuple advance(int64_t count, int threads) {
        require(count >= 0, "count must be 0 or more");
        nb::gil_scoped_release released;
        std::lock_guard<std::mutex> hold(lock);
        const int64_t first = leaders.decided(), some = std::min(count, leaders.rows() - first);
        nb::gil_scoped_acquire acquired;
        const NewArray<int64_t> numbers(some);
        const NewArray<float> cosines(some);
        {
            nb::gil_scoped_release again;
            leaders.advance(first + some, threads, numbers.data(), cosines.data());
        }
        return nb::make_tuple(numbers.object(), cosines.object());
    }
};

}  // namespace

void bind_duplicates(nb::module_& module) {
    module.def("nearest_cells", &nearest_cells_py, "rows"_a, "centroids"_a, "probes"_a, "threads"_a);
    nb::class_<PyLeaders>(module, "Leaders")
        .def(nb::init<Array2<float>, Array2<float>, int64_t, int64_t, float, int64_t>(), "vectors"_a, "centroids"_a,
             "probes"_a, "homes"_a, "threshold"_a, "reference"_a = 0)
        .def("advance", &PyLeaders::advance, "count"_a, "threads"_a);
}

}  // namespace noppa::binding
