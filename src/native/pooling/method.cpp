#include "pooling/method.hpp"

#include <stdexcept>

#include "pooling/arguments.hpp"

namespace noppa {

Method::Method(const Table& table, int64_t width) : table(table), width(width) {
    if (width < 0 || width > WIDEST) throw std::invalid_argument("a row of more numbers than can be counted");
}

Method::~Method() = default;

double Method::cost(double tokens) const { return 0.3 * double(table.dim) * (1.0 + tokens); }

bool Method::can_share(int64_t) const { return false; }

int64_t Method::pool_shared(const int32_t* ids, int64_t tokens, const Sharing&, void* scratch, float* row) const {
    return pool(ids, tokens, scratch, row);
}

const float* weights_of(const Table& table, const Arguments& arguments) {
    return arguments.is_none("weights") ? nullptr : arguments.floats("weights", table.words + 1).values;
}

}  // namespace noppa
