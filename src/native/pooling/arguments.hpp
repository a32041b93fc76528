// Named values that a method is made with. The binding fills them in from a dict without knowing any method; a method reads
// each by name, and with it checks its type, shape and range.
//
// The readers are compiled once, in arguments.cpp: methods are compiled once per instruction set (method.hpp says why that
// matters).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace noppa {

// An argument of another type than its method needs: Python's TypeError.
struct WrongType : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

template <class T>
struct Vector {
    const T* values;
    int64_t size;
};

template <class T>
struct Matrix {
    const T* values;
    int64_t rows, columns;
};

// A contiguous array of one or two axes; `owner` keeps its memory alive.
struct Array {
    enum Type : int { FLOAT32 = 0, FLOAT64 = 1, INT32 = 2 } type;
    const void* values;
    int axes;
    int64_t rows, columns;  // 1 column where there is one axis
    std::shared_ptr<const void> owner;
};

class Arguments {
  public:
    using Value = std::variant<std::monostate, bool, int64_t, double, std::vector<int64_t>, Array>;

    explicit Arguments(std::string method);
    // Integer arrays are copied: they become indices, and nobody may change those after they were checked.
    void set(const std::string& name, Value value);
    // Refuses a value that no reader asked for.
    void check_all_read() const;

    // Readers. A value that is missing or out of range throws std::invalid_argument, one of another type WrongType; both
    // name the method and the argument.
    static constexpr int64_t ANY = -1;
    bool is_none(const char* name) const;
    bool flag(const char* name) const;
    int64_t integer(const char* name, int64_t least, int64_t most) const;
    double number(const char* name) const;  // finite
    Vector<int64_t> integers(const char* name, int64_t least, int64_t most) const;
    Vector<float> floats(const char* name, int64_t size = ANY) const;
    Vector<double> doubles(const char* name, int64_t size = ANY) const;
    // Each from 0 up to, but not including, `end`.
    Vector<int32_t> indices(const char* name, int64_t size, int64_t end) const;
    Matrix<float> float_matrix(const char* name, int64_t rows, int64_t columns) const;
    Matrix<double> double_matrix(const char* name, int64_t rows, int64_t columns) const;
    [[noreturn]] void refuse(const char* name, const char* reason) const;

  private:
    struct Entry {
        Value value;
        mutable bool read = false;
    };
    const Value& at(const char* name) const;
    template <class T>
    const T& get(const char* name, const char* type) const;
    const Array& array(const char* name, Array::Type type, int axes, int64_t rows, int64_t columns) const;

    std::string method_;
    std::map<std::string, Entry> entries_;
};

}  // namespace noppa
