// Memory of large results.
#pragma once

#include <cstddef>

namespace noppa {

// Whole huge pages, which the system clears several times faster than small ones, and which it has back as soon as they
// are freed: malloc keeps up to 32 MB. Only Linux gives huge pages for the asking.
struct LargeMemory {
    size_t bytes;  // at least what was asked for
    void* at;

    // Whether so many bytes are worth it: for fewer, malloc's habit to keep them makes the next result cheaper.
    static bool suits(size_t bytes);

    explicit LargeMemory(size_t bytes);
    ~LargeMemory();
    LargeMemory(const LargeMemory&) = delete;
};

}  // namespace noppa
