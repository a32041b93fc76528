// What a pooling method is to the native code: ids of one sentence in, one row out.
//
// A method is one file, methods/<name>.cpp, found by its name: a struct that derives from Method (or from OfKnownWords of
// known_words.hpp), and NOPPA_METHOD(TheStruct) at its end. The build compiles the file once per instruction set. A template
// or inline function of the standard library that is used there is compiled once per set too, and the linker keeps one
// copy of it, perhaps one that this processor cannot run: use plain loops, and keep everything in an unnamed namespace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel_constants.hpp"
#include "pooling/table.hpp"
#include "sizes.hpp"

namespace noppa {

class Arguments;

// Threads that share one sentence.
struct Sharing {
    int threads;
    // Calls piece(context, number, scratch) for every number below `count`, in any order and on several threads, each with
    // `scratch_bytes` of its own, and returns when all are done.
    void run(int64_t count, size_t scratch_bytes, void (*piece)(void* context, int64_t number, void* scratch),
             void* context) const;
};

// A method with its checked arguments. It is never changed once made, and many threads call it at once.
struct Method {
    const Table table;
    const int64_t width;       // numbers in a row
    int64_t longest = WIDEST;  // tokens of the longest sentence that pool() can take

    // Nanoseconds that a sentence of so many tokens takes, roughly: batches are cut into tasks of about equal cost.
    virtual double cost(double tokens) const;
    // Bytes of scratch memory for a sentence of so many tokens.
    virtual size_t scratch_bytes(int64_t tokens) const = 0;
    // One sentence to one row (width,). Ids are words, the zero word or DROPPED. Returns how many were not dropped.
    virtual int64_t pool(const int32_t* ids, int64_t tokens, void* scratch, float* row) const = 0;
    // Whether threads can share a sentence of so many tokens, and its row then: the same bytes as those of pool().
    virtual bool can_share(int64_t tokens) const;
    virtual int64_t pool_shared(const int32_t* ids, int64_t tokens, const Sharing& sharing, void* scratch,
                                float* row) const;

    Method(const Method&) = delete;
    virtual ~Method();

  protected:
    // Width is at most WIDEST; `times` of sizes.hpp multiplies without overflow.
    Method(const Table& table, int64_t width);
};

// Weights (words + 1,), the last one of the zero word; null for None, which is 1 for each.
const float* weights_of(const Table& table, const Arguments& arguments);

}  // namespace noppa

#define NOPPA_JOIN_NAMES(a, b) a##b
#define NOPPA_JOIN(a, b) NOPPA_JOIN_NAMES(a, b)

// NOPPA_SET and NOPPA_METHOD_NAME come from the build.
#define NOPPA_METHOD(Type)                                                                         \
    namespace noppa::NOPPA_SET {                                                                   \
    Method* NOPPA_JOIN(make_, NOPPA_METHOD_NAME)(const Table& table, const Arguments& arguments) { \
        return new Type(table, arguments);                                                         \
    }                                                                                              \
    }
