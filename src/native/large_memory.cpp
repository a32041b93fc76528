#include "large_memory.hpp"

#include <cstdint>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace noppa {

#if defined(__linux__)

namespace {

constexpr size_t HUGE_PAGE = size_t(2) << 20, LEAST = size_t(8) << 20;

size_t whole_pages(size_t bytes) { return (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE; }

}  // namespace

bool LargeMemory::suits(size_t bytes) { return bytes >= LEAST; }

LargeMemory::LargeMemory(size_t asked) : bytes(whole_pages(asked)), at(nullptr) {
    // One page more than needed, so that a whole one begins in it; what lies before and behind goes back.
    void* mapped = mmap(nullptr, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    const size_t before = whole_pages(reinterpret_cast<uintptr_t>(mapped)) - reinterpret_cast<uintptr_t>(mapped);
    at = static_cast<char*>(mapped) + before;
    if (before) munmap(mapped, before);
    if (before < HUGE_PAGE) munmap(static_cast<char*>(at) + bytes, HUGE_PAGE - before);
    madvise(at, bytes, MADV_HUGEPAGE);
}

LargeMemory::~LargeMemory() { munmap(at, bytes); }

#else

bool LargeMemory::suits(size_t) { return false; }
LargeMemory::LargeMemory(size_t) : bytes(0), at(nullptr) {}
LargeMemory::~LargeMemory() = default;

#endif

}  // namespace noppa
