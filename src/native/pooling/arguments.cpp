#include "pooling/arguments.hpp"

#include <cmath>

#include "sizes.hpp"

namespace noppa {
namespace {

const char* const ARRAY_TYPES[] = {"float32", "float64", "int32"};

std::string in_range(int64_t least, int64_t most) {
    if (most == INT64_MAX) return "must be at least " + std::to_string(least);
    return "must lie between " + std::to_string(least) + " and " + std::to_string(most);
}

}  // namespace

Arguments::Arguments(std::string method) : method_(std::move(method)) {}

void Arguments::set(const std::string& name, Value value) {
    Array* array = std::get_if<Array>(&value);
    if (array && array->type == Array::INT32) {
        const int32_t* values = static_cast<const int32_t*>(array->values);
        auto copy = std::make_shared<std::vector<int32_t>>(values, values + times(array->rows, array->columns));
        array->values = copy->data();
        array->owner = std::move(copy);
    }
    entries_[name] = Entry{std::move(value)};
}

void Arguments::check_all_read() const {
    for (const auto& [name, entry] : entries_)
        if (!entry.read) throw std::invalid_argument(method_ + " has no argument '" + name + "'");
}

void Arguments::refuse(const char* name, const char* reason) const {
    throw std::invalid_argument(method_ + ": argument '" + name + "' " + reason);
}

const Arguments::Value& Arguments::at(const char* name) const {
    const auto entry = entries_.find(name);
    if (entry == entries_.end()) refuse(name, "is missing");
    entry->second.read = true;
    return entry->second.value;
}

template <class T>
const T& Arguments::get(const char* name, const char* type) const {
    const T* value = std::get_if<T>(&at(name));
    if (!value) throw WrongType(method_ + ": argument '" + name + "' must be " + type);
    return *value;
}

bool Arguments::is_none(const char* name) const { return std::holds_alternative<std::monostate>(at(name)); }

bool Arguments::flag(const char* name) const { return get<bool>(name, "True or False"); }

int64_t Arguments::integer(const char* name, int64_t least, int64_t most) const {
    const int64_t value = get<int64_t>(name, "an int");
    if (value < least || value > most) refuse(name, in_range(least, most).c_str());
    return value;
}

double Arguments::number(const char* name) const {
    if (const int64_t* whole = std::get_if<int64_t>(&at(name))) return double(*whole);
    const double value = get<double>(name, "a number");
    if (!std::isfinite(value)) refuse(name, "must be finite");
    return value;
}

Vector<int64_t> Arguments::integers(const char* name, int64_t least, int64_t most) const {
    const auto& values = get<std::vector<int64_t>>(name, "a list of ints");
    for (const int64_t value : values)
        if (value < least || value > most) refuse(name, ("has an item that " + in_range(least, most)).c_str());
    return {values.data(), int64_t(values.size())};
}

const Array& Arguments::array(const char* name, Array::Type type, int axes, int64_t rows, int64_t columns) const {
    const std::string type_name = std::string("an array of ") + ARRAY_TYPES[type];
    const Array& array = get<Array>(name, type_name.c_str());
    if (array.type != type)
        throw WrongType(method_ + ": argument '" + name + "' must be " + type_name + ", not " +
                        ARRAY_TYPES[array.type]);
    if (array.axes != axes) refuse(name, axes == 1 ? "must have one axis" : "must have two axes");
    const auto check = [&](int64_t size, int64_t expected, const char* axis) {
        if (size > WIDEST) refuse(name, "has more rows or columns than can be counted");
        if (expected == ANY || size == expected) return;
        refuse(name, ("must have " + std::to_string(expected) + axis + ", not " + std::to_string(size)).c_str());
    };
    check(array.rows, rows, axes == 1 ? " values" : " rows");
    check(array.columns, columns, " columns");
    return array;
}

Vector<float> Arguments::floats(const char* name, int64_t size) const {
    const Array& checked = array(name, Array::FLOAT32, 1, size, 1);
    return {static_cast<const float*>(checked.values), checked.rows};
}

Vector<double> Arguments::doubles(const char* name, int64_t size) const {
    const Array& checked = array(name, Array::FLOAT64, 1, size, 1);
    return {static_cast<const double*>(checked.values), checked.rows};
}

Vector<int32_t> Arguments::indices(const char* name, int64_t size, int64_t end) const {
    const Array& checked = array(name, Array::INT32, 1, size, 1);
    const int32_t* values = static_cast<const int32_t*>(checked.values);
    for (int64_t at = 0; at < checked.rows; ++at)
        if (values[at] < 0 || values[at] >= end)
            refuse(name, ("has an index that is not below " + std::to_string(end)).c_str());
    return {values, checked.rows};
}

Matrix<float> Arguments::float_matrix(const char* name, int64_t rows, int64_t columns) const {
    const Array& checked = array(name, Array::FLOAT32, 2, rows, columns);
    return {static_cast<const float*>(checked.values), checked.rows, checked.columns};
}

Matrix<double> Arguments::double_matrix(const char* name, int64_t rows, int64_t columns) const {
    const Array& checked = array(name, Array::FLOAT64, 2, rows, columns);
    return {static_cast<const double*>(checked.values), checked.rows, checked.columns};
}

}  // namespace noppa
