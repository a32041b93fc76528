// Word vectors as Python hands them over, checked, with the arrays that they point into.
#pragma once

#include "binding/arrays.hpp"
#include "pooling/table.hpp"

namespace noppa::binding {

using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using Scales = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;

// Some columns of a larger matrix are a table too. 8-bit rows have scales (words,), or (words, blocks) and the widths of
// the blocks.
struct PyTable {
    AnyMatrix matrix;
    std::optional<Scales> scales;
    std::vector<int64_t> edges;
    Table table;

    PyTable(const PyTable&) = delete;  // `table` points into `edges`
    PyTable(AnyMatrix m, std::optional<Scales> s, const std::vector<int64_t>& blocks) : matrix(m), scales(s), edges{0} {
        table.rows = matrix.data();
        table.words = checked_size(int64_t(matrix.shape(0)), "a matrix of too many rows");
        table.dim = checked_size(int64_t(matrix.shape(1)), "a matrix of too many columns");
        table.stride = matrix.stride(0);
        require(table.dim == 1 || matrix.stride(1) == 1, "the numbers of a row must lie side by side");
        table.scales = scales ? scales->data() : nullptr;
        for (const int64_t width : blocks) {
            require(width > 0 && width <= table.dim - edges.back(), "the blocks do not cover the columns");
            edges.push_back(edges.back() + width);
        }
        if (blocks.empty()) edges.push_back(table.dim);
        require(edges.back() == table.dim, "the blocks do not cover the columns");
        table.edges = edges.data();
        table.blocks = int64_t(edges.size()) - 1;
        const nb::dlpack::dtype kind = matrix.dtype();
        if (kind == nb::dtype<float>()) table.storage = FLOAT32;
        else if (kind == nb::dtype<int8_t>()) table.storage = INT8;
        else if (kind.code == uint8_t(nb::dlpack::dtype_code::Float) && kind.bits == 16) table.storage = FLOAT16;
        else throw std::invalid_argument("a matrix is float32, float16 or int8");
        require((table.storage == INT8) == bool(table.scales), "8-bit rows need scales, and only they");
        require(!scales || int64_t(scales->size()) == times(table.words, table.blocks), "one scale a row and block");
    }
};

}  // namespace noppa::binding
