// Memory of large results, which is used again.
#pragma once

#include <cstddef>

namespace noppa {

// The last block that was freed is kept for the next result, since clearing new pages costs up to a fifth of encoding; the
// system may take its pages back at any time, as if it had been freed. Only Linux has that, and huge pages for the asking.
struct KeptMemory {
    size_t bytes;  // at least what was asked for
    void* at;

    // Whether so many bytes are worth it: NumPy's memory does for the others.
    static bool suits(size_t bytes);

    explicit KeptMemory(size_t bytes);
    ~KeptMemory();
    KeptMemory(const KeptMemory&) = delete;
};

}  // namespace noppa
