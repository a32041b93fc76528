// Memory for the arrays that are handed out.
#pragma once

#include <cstddef>

namespace noppa {

// Large blocks have huge pages, as NumPy's: touching new small pages costs more than pooling. The last large block that was
// freed is kept for the next result, since clearing new pages costs as much again; the system may take its pages back at
// any time, as if it had been freed.
struct ResultMemory {
    size_t bytes;
    void* at;

    explicit ResultMemory(size_t bytes);
    ~ResultMemory();
    ResultMemory(const ResultMemory&) = delete;
};

}  // namespace noppa
