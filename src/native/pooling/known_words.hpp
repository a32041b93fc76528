// The base of methods to which a dropped token is as if it were not there.
#pragma once

#include "pooling/arguments.hpp"
#include "pooling/method.hpp"
#include "pooling/rows.hpp"
#include "sizes.hpp"

namespace {

// `Own` has `lay_out(memory, tokens)`, which hands out scratch for a sentence, and `fill(scratch, ids, tokens, row)` for the
// known ids of one, at least one of them. A sentence without any is a row of zeros.
template <class Own>
struct OfKnownWords : noppa::Method {
    using Method::Method;

    size_t scratch_bytes(int64_t tokens) const final {
        Memory memory{0};
        memory.take<int32_t>(tokens);
        own().lay_out(memory, tokens);
        return memory.room();
    }

    int64_t pool(const int32_t* ids, int64_t tokens, void* scratch, float* row) const final {
        Memory memory{aligned(scratch)};
        int32_t* known_ids = memory.take<int32_t>(tokens);
        auto layout = own().lay_out(memory, tokens);
        int64_t known = 0;
        for (int64_t t = 0; t < tokens; ++t)
            if (ids[t] != noppa::DROPPED) known_ids[known++] = ids[t];
        if (known) own().fill(layout, known_ids, known, row);
        else
            for (int64_t m = 0; m < width; ++m) row[m] = 0;
        return known;
    }

  private:
    const Own& own() const { return static_cast<const Own&>(*this); }
};

inline double weight_of(const float* weights, int32_t id) { return weights ? double(weights[id]) : 1.0; }

}  // namespace
