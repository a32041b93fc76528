// NumPy arrays in and out.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "large_memory.hpp"
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

// `numpy.empty` and the types that it is asked for. They are looked up when the module is imported and never freed.
struct NumPy {
    nb::handle empty, types[6];
};
inline NumPy numpy_functions;

template <class T>
constexpr int type_number() {
    if (std::is_same_v<T, float>) return 0;
    if (std::is_same_v<T, uint8_t>) return 1;
    if (std::is_same_v<T, int32_t>) return 2;
    if (std::is_same_v<T, uint32_t>) return 3;
    return std::is_same_v<T, int64_t> ? 4 : 5;
}

inline void look_up_numpy() {
    const nb::module_ numpy = nb::module_::import_("numpy");
    numpy_functions.empty = nb::object(numpy.attr("empty")).release();
    const char* names[] = {"float32", "uint8", "int32", "uint32", "int64", "uint64"};
    for (int at = 0; at < 6; ++at) numpy_functions.types[at] = numpy.attr("dtype")(names[at]).release();
}

// A new NumPy array for results. NumPy makes it and not nanobind, which would wrap our memory in three objects first: that
// takes longer than a short text. Large ones lie in huge pages.
template <class T>
class NewArray {
    static_assert(std::is_same_v<T, float> || std::is_integral_v<T>);

  public:
    template <class... Sizes>
    explicit NewArray(Sizes... sizes) {
        int64_t bytes = sizeof(T);
        for (int64_t size : {int64_t(sizes)...}) bytes = times(bytes, size);
        if (bytes >= TOO_MANY) throw std::bad_alloc();
        if (LargeMemory::suits(size_t(bytes))) {
            auto* memory = new LargeMemory(size_t(bytes));
            const nb::capsule owner(memory, [](void* p) noexcept { delete static_cast<LargeMemory*>(p); });
            data_ = static_cast<T*>(memory->at);
            array_ = nb::cast(nb::ndarray<nb::numpy, T>(data_, {size_t(sizes)...}, owner));
            return;
        }
        try {
            array_ = numpy_functions.empty(nb::make_tuple(int64_t(sizes)...), numpy_functions.types[type_number<T>()]);
        } catch (const nb::python_error& error) {
            if (error.matches(PyExc_MemoryError)) throw std::bad_alloc();
            throw;
        }
        Py_buffer view;
        if (PyObject_GetBuffer(array_.ptr(), &view, PyBUF_WRITABLE)) throw nb::python_error();
        data_ = static_cast<T*>(view.buf);
        PyBuffer_Release(&view);  // the array keeps its memory, which nothing moves
    }
    T* data() const { return data_; }
    const nb::object& object() const { return array_; }

  private:
    nb::object array_;
    T* data_;
};

template <class T>
nb::object numpy(const std::vector<T>& values) {
    const NewArray<T> array(values.size());
    if (!values.empty()) std::memcpy(array.data(), values.data(), values.size() * sizeof(T));
    return array.object();
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
