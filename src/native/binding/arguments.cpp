#include "binding/arguments.hpp"

namespace noppa::binding {
namespace {

using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;

template <class T, int AXES>
Array array_held(nb::handle value, Array::Type type) {
    using Typed = nb::ndarray<const T, nb::ndim<AXES>, nb::c_contig, nb::device::cpu>;
    auto owner = std::make_shared<Typed>(nb::cast<Typed>(value));  // a copy where the array is not contiguous
    const int64_t columns = AXES == 2 ? int64_t(owner->shape(AXES - 1)) : 1;
    return {type, owner->data(), AXES, int64_t(owner->shape(0)), columns, owner};
}

template <class T>
Array array_held(nb::handle value, Array::Type type, size_t axes, const std::string& label) {
    if (axes == 1) return array_held<T, 1>(value, type);
    if (axes == 2) return array_held<T, 2>(value, type);
    throw std::invalid_argument(label + " must have one or two axes");
}

Array array_of(nb::handle value, const AnyArray& array, const std::string& label) {
    if (array.dtype() == nb::dtype<float>()) return array_held<float>(value, Array::FLOAT32, array.ndim(), label);
    if (array.dtype() == nb::dtype<double>()) return array_held<double>(value, Array::FLOAT64, array.ndim(), label);
    if (array.dtype() == nb::dtype<int32_t>()) return array_held<int32_t>(value, Array::INT32, array.ndim(), label);
    throw WrongType(label + " must be an array of float32, float64 or int32");
}

int64_t integer_of(nb::handle value, const std::string& label) {
    int64_t whole;
    if (!PyIndex_Check(value.ptr())) throw WrongType(label + " must hold ints");
    if (!nb::try_cast(nb::steal(PyNumber_Index(value.ptr())), whole))
        throw std::invalid_argument(label + " does not fit 64 bits");
    return whole;
}

Arguments::Value value_of(nb::handle value, const std::string& label) {
    AnyArray array;
    if (value.is_none()) return std::monostate{};
    if (PyBool_Check(value.ptr())) return value.ptr() == Py_True;
    if (PyFloat_Check(value.ptr())) return PyFloat_AsDouble(value.ptr());
    if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr())) {
        std::vector<int64_t> items;
        for (nb::handle item : value) items.push_back(integer_of(item, label));
        return items;
    }
    if (nb::try_cast(value, array, false)) return array_of(value, array, label);
    if (PyIndex_Check(value.ptr())) return integer_of(value, label);
    throw WrongType(label + " must be an array, a number, a bool, a list of ints or None");
}

}  // namespace

Arguments arguments_of(const std::string& method, nb::dict values) {
    Arguments arguments(method);
    for (auto [key, value] : values) {
        std::string name;
        if (!nb::try_cast(key, name)) throw WrongType(method + ": the name of an argument must be a str");
        arguments.set(name, value_of(value, method + ": argument '" + name + "'"));
    }
    return arguments;
}

}  // namespace noppa::binding
