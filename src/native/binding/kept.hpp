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

// Steps as tuples ("remove", left, right, bias), ("map", matrix, bias), ("normalise", width), checked and kept. An array
// that had to be converted lives only here.
struct PySteps {
    std::vector<Array2<float>> matrices;
    std::vector<Array1<float>> biases;
    std::vector<Step> steps;

    explicit PySteps(nb::list described) {
        for (nb::handle item : described) {
            const nb::tuple parts = nb::cast<nb::tuple>(item);
            const std::string kind = parts.size() ? nb::cast<std::string>(parts[0]) : "";
            const size_t expected = kind == "normalise" ? 2 : kind == "map" ? 3 : kind == "remove" ? 4 : SIZE_MAX;
            require(parts.size() == expected, "no such step");
            const Step step = kind == "normalise" ? normalise(parts) : kind == "map" ? map(parts) : remove(parts);
            require(steps.empty() || steps.back().out == step.in, "a step does not fit the one before it");
            steps.push_back(step);
        }
    }

    bool take(int64_t width) const { return steps.empty() || steps.front().in == width; }
    int64_t width_after(int64_t width) const { return steps.empty() ? width : steps.back().out; }

  private:
    static int64_t width_of(int64_t size) { return checked_size(size, "a step of too many columns"); }

    const Array2<float>& matrix(nb::handle item) {
        matrices.push_back(nb::cast<Array2<float>>(item));
        return matrices.back();
    }
    const float* bias(nb::handle item, size_t length) {
        biases.push_back(nb::cast<Array1<float>>(item));
        require(biases.back().shape(0) == length, "bias of the wrong length");
        return biases.back().data();
    }

    static Step normalise(const nb::tuple& parts) {
        const int64_t width = width_of(nb::cast<int64_t>(parts[1]));
        return {Step::NORMALISE, nullptr, nullptr, nullptr, 0, width, width};
    }
    Step map(const nb::tuple& parts) {
        const auto left = matrix(parts[1]);
        const int64_t in = width_of(int64_t(left.shape(0))), out = width_of(int64_t(left.shape(1)));
        return {Step::MAP, left.data(), nullptr, bias(parts[2], left.shape(1)), 0, in, out};
    }
    Step remove(const nb::tuple& parts) {
        const auto left = matrix(parts[1]), right = matrix(parts[2]);
        require(right.shape(0) == left.shape(0) && right.shape(1) == left.shape(1), "right differs from left");
        const int64_t count = width_of(int64_t(left.shape(0))), width = width_of(int64_t(left.shape(1)));
        return {Step::REMOVE, left.data(), right.data(), bias(parts[3], left.shape(0)), count, width, width};
    }
};

}  // namespace noppa::binding
