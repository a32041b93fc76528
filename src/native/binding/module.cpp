// Python's view of the native code. Every topic checks shapes, lets go of the GIL and calls what has no Python in it.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <exception>
#include <new>
#include <string>

#include "binding/arrays.hpp"
#include "binding/topics.hpp"
#include "kernel_constants.hpp"
#include "pooling/instruction_sets.hpp"

namespace nb = nanobind;
using namespace noppa;

NB_MODULE(_native, module) {
    nb::set_leak_warnings(false);  // encoders that live until the interpreter ends are no leak
    nb::register_exception_translator([](const std::exception_ptr& failure, void*) {
        try {
            std::rethrow_exception(failure);
        } catch (const WrongType& wrong) {
            PyErr_SetString(PyExc_TypeError, wrong.what());
        } catch (const std::bad_alloc&) {
            PyErr_SetString(PyExc_MemoryError,
                            "too little memory for this call: fewer or shorter texts, or fewer dimensions, need less");
        }
    });
    module.doc() = "The compiled half of noppa; tests/oracle checks it against plain Python.";
    module.attr("REAL") = "float32";
    module.attr("POSITION_UNIT") = POSITION_UNIT;
    module.def("instruction_set", [] { return compiled_sets()[live_set()].name; });
    module.def("instruction_sets", [] {
        std::vector<std::string> names;
        for (const char* name : instruction_sets()) names.emplace_back(name);
        return names;
    });
    if (const char* name = std::getenv("NOPPA_ISA"); name && *name && !use_instruction_set(name)) {
        std::string available;
        for (const char* set : instruction_sets()) available += std::string(available.empty() ? "" : ", ") + set;
        throw nb::import_error(
            (std::string("NOPPA_ISA=") + name + " is not available here, only " + available).c_str());
    }
    module.def("use_instruction_set", [](const std::string& name) { return use_instruction_set(name); });
    binding::look_up_numpy();
    binding::bind_text(module);
    binding::bind_network_steps(module);
    binding::bind_pooling(module);
    binding::bind_search(module);
    binding::bind_character_ngrams(module);
    binding::bind_sparse(module);
    binding::bind_training(module);
    binding::bind_duplicates(module);
    binding::bind_vector_text(module);
}
