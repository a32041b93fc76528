// Word vectors in files.
#include "vector_text.hpp"
#include "binding/arrays.hpp"
#include "binding/topics.hpp"

namespace noppa::binding {
namespace {

// text, bounds, matrix (rows, dim), bad_starts, invalid_utf8, invalid_utf8_starts, consumed: the fields of VectorRows.
nb::tuple python_rows(VectorRows&& rows, int64_t dim) {
    const size_t count = rows.bounds.size() - 1;
    float* memory = rows.matrix.release();
    nb::capsule owner(memory, [](void* p) noexcept { delete[] static_cast<float*>(p); });
    nb::ndarray<nb::numpy, float, nb::ndim<2>> matrix(memory, {count, size_t(dim)}, owner);
    return nb::make_tuple(numpy(rows.text), numpy(rows.bounds), nb::cast(matrix), numpy(rows.bad_starts),
                          numpy(rows.invalid_utf8), numpy(rows.invalid_utf8_starts), rows.consumed);
}

nb::tuple parse_vectors_py(nb::bytes block, int64_t dim, int threads) {
    require(dim > 0 && dim <= WIDEST, "dim must be positive and fit 31 bits");
    VectorRows rows;
    {
        nb::gil_scoped_release released;
        rows = parse_vectors(block.c_str(), block.size(), dim, threads);
    }
    return python_rows(std::move(rows), dim);
}

nb::tuple parse_records_py(nb::bytes block, int64_t dim, int64_t most) {
    require(dim > 0 && dim <= WIDEST && most >= 0, "dim must be positive and fit 31 bits, most not negative");
    VectorRows rows;
    {
        nb::gil_scoped_release released;
        rows = parse_records(block.c_str(), block.size(), dim, most);
    }
    return python_rows(std::move(rows), dim);
}

nb::list format_rows_py(Array2<float> matrix, const std::string& separator, int threads) {
    std::vector<std::string> lines;
    {
        nb::gil_scoped_release released;
        lines = format_rows(matrix.data(), int64_t(matrix.shape(0)), int64_t(matrix.shape(1)), separator, threads);
    }
    nb::list out;
    for (const std::string& line : lines) out.append(nb::bytes(line.data(), line.size()));
    return out;
}

}  // namespace

void bind_vector_text(nb::module_& module) {
    module.def("parse_vectors", &parse_vectors_py, "block"_a, "dim"_a, "threads"_a);
    module.def("parse_records", &parse_records_py, "block"_a, "dim"_a, "most"_a);
    module.def("format_rows", &format_rows_py, "matrix"_a, "separator"_a, "threads"_a);
}

}  // namespace noppa::binding
