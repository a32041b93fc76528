#include "pooling/pooling.hpp"

#include <algorithm>

#include "pooling/instruction_sets.hpp"

namespace noppa {
namespace {

size_t number_of(const std::string& name) {
    const std::vector<std::string>& names = method_names();
    const auto place = std::find(names.begin(), names.end(), name);
    if (place == names.end()) throw std::invalid_argument("no native method is called '" + name + "'");
    return size_t(place - names.begin());
}

}  // namespace

Pooling::Pooling(const std::string& name, const Table& table, Arguments arguments)
    : table(table), arguments_(std::move(arguments)), maker_(number_of(name)), slots_(compiled_sets().size()) {
    width = method(live_set()).width;
    arguments_.check_all_read();
}

const Method& Pooling::method(size_t instruction_set) const {
    std::atomic<Method*>& made = slots_[instruction_set].method;
    if (Method* method = made.load(std::memory_order_acquire)) return *method;
    std::lock_guard<std::mutex> hold(making_);
    if (!made.load()) made.store(compiled_sets()[instruction_set].makers[maker_](table, arguments_));
    return *made.load();
}

}  // namespace noppa
