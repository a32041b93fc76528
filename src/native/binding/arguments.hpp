// A method's arguments from a Python dict.
#pragma once

#include "binding/arrays.hpp"
#include "pooling/arguments.hpp"

namespace noppa::binding {

// Holds the arrays of the dict. Throws WrongType for a value of a type that no method can take.
Arguments arguments_of(const std::string& method, nb::dict values);

}  // namespace noppa::binding
