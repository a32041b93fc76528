// Sparse rows times a matrix.
#include "sparse.hpp"
#include "binding/arrays.hpp"
#include "binding/topics.hpp"

namespace noppa::binding {
namespace {

nb::object sparse_product_py(Array1<float> values, Array1<int32_t> ids, Array1<int64_t> offsets, Array2<float> matrix,
                             int threads) {
    const int64_t rows = checked_offsets(offsets, int64_t(ids.shape(0))).sentences;
    const int64_t width = checked_size(int64_t(matrix.shape(0)), "a matrix of too many rows");
    const int64_t columns = checked_size(int64_t(matrix.shape(1)), "a matrix of too many columns");
    require(values.shape(0) == ids.shape(0), "one value an id");
    for (size_t at = 0; at < ids.shape(0); ++at) require(ids(at) >= 0 && ids(at) < width, "an id outside the matrix");
    const NewArray<float> out(rows, columns);
    {
        nb::gil_scoped_release released;
        sparse_product(values.data(), ids.data(), offsets.data(), rows, matrix.data(), columns, out.data(), threads);
    }
    return out.object();
}

}  // namespace

void bind_sparse(nb::module_& module) {
    module.def("sparse_product", &sparse_product_py, "values"_a, "ids"_a, "offsets"_a, "matrix"_a, "threads"_a);
}

}  // namespace noppa::binding
