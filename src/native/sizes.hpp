// Arithmetic on sizes that come from outside: overflow is impossible.
#pragma once

#include <cstddef>
#include <cstdint>

namespace noppa {

// The most columns, rows or tokens of a sentence: what int32 can count.
constexpr int64_t WIDEST = INT32_MAX;
// Products saturate here; no machine has so much memory, so allocating it fails.
constexpr int64_t TOO_MANY = int64_t(1) << 60;

}  // namespace noppa

// Unnamed: each instruction set compiles its own copy.
namespace {

// The product of sizes from 0 on, or TOO_MANY.
inline int64_t times(int64_t a, int64_t b) {
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) || product > noppa::TOO_MANY ? noppa::TOO_MANY : product;
}

// Hands out pieces of a scratch from `base` on, which is a multiple of 64; at 0, only counts their bytes.
struct Memory {
    uintptr_t base;
    int64_t used = 0;

    template <class T>
    T* take(int64_t count) {
        const uintptr_t at = base + uintptr_t(used);
        const int64_t bytes = times(count, int64_t(sizeof(T)));
        used = bytes < noppa::TOO_MANY - used ? used + (bytes + 63) / 64 * 64 : noppa::TOO_MANY;
        return reinterpret_cast<T*>(at);
    }
    // Bytes to ask for, so that a multiple of 64 lies in their first 64.
    size_t room() const { return size_t(used) + 64; }
};

inline uintptr_t aligned(void* scratch) { return (reinterpret_cast<uintptr_t>(scratch) + 63) / 64 * 64; }

}  // namespace
