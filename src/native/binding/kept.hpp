// What Python makes once and hands to every call: tables and steps, checked, with the arrays that they point into.
#pragma once

#include "batch.hpp"
#include "binding/arrays.hpp"

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

    PyTable(AnyMatrix m, std::optional<Scales> s, const std::vector<int64_t>& blocks) : matrix(m), scales(s), edges{0} {
        table.rows = matrix.data();
        table.words = int64_t(matrix.shape(0));
        table.dim = int64_t(matrix.shape(1));
        table.stride = matrix.stride(0);
        require(table.dim == 1 || matrix.stride(1) == 1, "the numbers of a row must lie side by side");
        table.scales = scales ? scales->data() : nullptr;
        for (const int64_t width : blocks) {
            require(width > 0, "a block needs columns");
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
        require(!scales || int64_t(scales->size()) == table.words * table.blocks, "one scale a row and block");
    }
};

// Steps as tuples ("remove", left, right, bias), ("map", matrix, bias), ("normalise", width), checked and kept.
struct PySteps {
    std::vector<nb::object> arrays;
    std::vector<Step> steps;

    explicit PySteps(nb::list described) {
        for (nb::handle item : described) {
            nb::tuple parts = nb::cast<nb::tuple>(item);
            const std::string kind = nb::cast<std::string>(parts[0]);
            Step step{};
            if (kind == "normalise") {
                step.kind = Step::NORMALISE;
                step.in = step.out = nb::cast<int64_t>(parts[1]);
            } else {
                const bool map = kind == "map";
                auto left = nb::cast<Array2<float>>(parts[1]);
                auto bias = nb::cast<Array1<float>>(parts[map ? 2 : 3]);
                step.kind = map ? Step::MAP : Step::REMOVE;
                step.left = left.data();
                step.bias = bias.data();
                step.inner = int64_t(left.shape(0));
                step.in = int64_t(left.shape(map ? 0 : 1));
                step.out = int64_t(left.shape(1));
                require(bias.shape(0) == left.shape(map ? 1 : 0), "bias of the wrong length");
                if (!map) {
                    auto right = nb::cast<Array2<float>>(parts[2]);
                    require(right.shape(0) == left.shape(0) && right.shape(1) == left.shape(1), "right differs from left");
                    step.right = right.data();
                }
            }
            require(steps.empty() || steps.back().out == step.in, "a step does not fit the one before it");
            steps.push_back(step);
            arrays.push_back(nb::borrow(item));
        }
    }

    bool take(int64_t width) const { return steps.empty() || steps.front().in == width; }
    int64_t width_after(int64_t width) const { return steps.empty() ? width : steps.back().out; }
};

}  // namespace noppa::binding
