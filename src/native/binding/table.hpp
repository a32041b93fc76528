// Word vectors as Python hands them over, checked, with the arrays that they point into.
#pragma once

#include "binding/arrays.hpp"
#include "kernel_constants.hpp"
#include "pooling/table.hpp"

namespace noppa::binding {

using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using Scales = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

inline bool is_half(const nb::dlpack::dtype& kind) {
    return kind.code == uint8_t(nb::dlpack::dtype_code::Float) && kind.bits == 16;
}

// Some columns of a larger matrix are a table too. 8-bit rows have scales (words,), or (words, blocks) and the widths of
// the blocks. Packed rows are bytes (words, bytes), and have the bits of each block too.
struct PyTable {
    AnyMatrix matrix;
    std::optional<Scales> scales;
    std::vector<Block> blocks;
    Table table{};

    PyTable(const PyTable&) = delete;  // `table` points into `blocks`
    PyTable(AnyMatrix m, std::optional<Scales> s, const std::vector<int64_t>& widths, const std::vector<int64_t>& bits)
        : matrix(m), scales(s) {
        const nb::dlpack::dtype kind = matrix.dtype();
        const bool packed = kind == nb::dtype<uint8_t>();
        require(packed == !bits.empty() && (!packed || bits.size() == widths.size()),
                "packed rows need bits, one a block");
        if (kind == nb::dtype<float>()) table.storage = FLOAT32;
        else if (is_half(kind)) table.storage = FLOAT16;
        else if (packed || kind == nb::dtype<int8_t>()) table.storage = QUANTIZED;
        else throw std::invalid_argument("a matrix is float32, float16, int8 or packed bytes");
        table.rows = matrix.data();
        table.words = checked_size(int64_t(matrix.shape(0)), "a matrix of too many rows");
        const int64_t row = checked_size(int64_t(matrix.shape(1)), "a matrix of too many columns");
        require(row == 1 || matrix.stride(1) == 1, "the numbers of a row must lie side by side");
        const int64_t bytes = int64_t(kind.bits / 8);
        table.row_bytes = times(row, bytes);
        table.row_apart = matrix.stride(0) * bytes;
        lay_out(row, widths, bits);
        take_scales(packed);
    }

  private:
    // Where the blocks lie in a row of so many numbers or bytes.
    void lay_out(int64_t row, const std::vector<int64_t>& widths, const std::vector<int64_t>& bits) {
        int64_t column = 0, byte = 0;
        const auto add = [&](int64_t width, int64_t depth) {
            require(width > 0 && width <= 2 * row && (depth == 8 || depth == 4), "the blocks do not cover the columns");
            blocks.push_back({column, column + width, byte, depth});
            column += width;
            byte += depth == 8 ? width : (width + 1) / 2;
            require(byte <= row, "the blocks do not cover the columns");
        };
        for (size_t b = 0; b < widths.size(); ++b) add(widths[b], bits.empty() ? 8 : bits[b]);
        if (widths.empty() && row) add(row, 8);
        require(byte == row, "the blocks do not cover the columns");
        table.dim = checked_size(column, "a matrix of too many columns");
        table.blocks = blocks.data();
        table.block_count = int64_t(blocks.size());
    }

    void take_scales(bool packed) {
        require((table.storage == QUANTIZED) == scales.has_value(), "quantized rows need scales, and only they");
        if (!scales) return;
        table.half_scales = packed && is_half(scales->dtype());
        require(table.half_scales || scales->dtype() == nb::dtype<float>(), "scales of another type");
        const int64_t each = table.block_count ? table.block_count : 1;  // rows without columns have one all the same
        require(int64_t(scales->size()) == times(table.words, each), "one scale a row and block");
        table.scales = scales->data();
        table.unit = packed ? 1.0f / float(LEVEL_UNIT) : 1.0f;
    }
};

}  // namespace noppa::binding
