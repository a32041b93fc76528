// A method with its arguments, ready for batches.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "pooling/arguments.hpp"
#include "pooling/method.hpp"

namespace noppa {

// Arguments are checked once, when it is made. It has one Method per instruction set, each made when that set is first
// in use, and may be called by many threads at once.
class Pooling {
  public:
    // `table` and the arrays of `arguments` must stay alive; throws std::invalid_argument for arguments that do not fit.
    Pooling(const std::string& name, const Table& table, Arguments arguments);

    const Method& method(size_t instruction_set) const;
    const Table table;
    int64_t width;  // numbers in a row

  private:
    const Arguments arguments_;  // methods point into it
    const size_t maker_;
    mutable std::mutex making_;
    struct Slot {
        std::atomic<Method*> method{nullptr};
        ~Slot() { delete method.load(); }
    };
    mutable std::vector<Slot> slots_;
};

}  // namespace noppa
