// NumPy arrays in and out.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "result_memory.hpp"
#include "sizes.hpp"

namespace nb = nanobind;

namespace noppa::binding {

using namespace nb::literals;

template <class T>
using Array1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Array2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

inline void require(bool holds, const char* message) {
    if (!holds) throw std::invalid_argument(message);
}

template <class T>
nb::object numpy(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner));
}

template <class T, class... Sizes>
nb::ndarray<nb::numpy, T> empty(Sizes... sizes) {
    int64_t bytes = sizeof(T);
    for (int64_t size : {int64_t(sizes)...}) bytes = times(bytes, size);
    auto* memory = new ResultMemory(size_t(bytes));
    nb::capsule owner(memory, [](void* p) noexcept { delete static_cast<ResultMemory*>(p); });
    return nb::ndarray<nb::numpy, T>(memory->at, {size_t(sizes)...}, owner);
}

// A number of columns, rows or clusters that the native code can count in.
inline int64_t checked_size(int64_t size, const char* message) {
    require(size >= 0 && size <= WIDEST, message);
    return size;
}

struct SentenceCounts {
    int64_t sentences;
    int64_t longest;  // tokens of the longest sentence
};

// Checks that offsets (sentences + 1,) rise from 0 to the number of tokens.
inline SentenceCounts checked_offsets(const Array1<int64_t>& offsets, int64_t tokens) {
    const int64_t sentences = int64_t(offsets.shape(0)) - 1;
    require(sentences >= 0 && offsets(0) == 0 && offsets(size_t(sentences)) == tokens, "offsets do not fit the ids");
    int64_t longest = 0;
    for (int64_t s = 0; s < sentences; ++s) {
        const int64_t length = offsets(size_t(s + 1)) - offsets(size_t(s));
        require(length >= 0, "offsets fall");
        longest = length > longest ? length : longest;
    }
    require(longest <= WIDEST, "a sentence of too many tokens");
    return {sentences, longest};
}

}  // namespace noppa::binding
