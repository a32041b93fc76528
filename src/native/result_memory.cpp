#include "result_memory.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace noppa {
namespace {

void* checked(void* memory) {
    if (!memory) throw std::bad_alloc();
    return memory;
}

#if defined(__linux__)

constexpr size_t HUGE_PAGE = size_t(2) << 20;
constexpr size_t LARGE = 2 * HUGE_PAGE, LARGEST_KEPT = size_t(256) << 20;

struct Block {
    void* at;
    size_t bytes;
};

// Exchanged as a whole and never waited for: a process may fork while another thread is here.
std::atomic<Block*> kept{nullptr};

void drop(Block* block) {
    if (!block) return;
    std::free(block->at);
    delete block;
}

size_t rounded(size_t bytes) { return (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE; }

void* take_large(size_t bytes) {
    if (Block* block = kept.exchange(nullptr)) {
        void* memory = block->bytes == bytes ? block->at : nullptr;
        if (!memory) std::free(block->at);
        delete block;
        if (memory) return memory;
    }
    void* memory = checked(std::aligned_alloc(HUGE_PAGE, bytes));
    madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

void keep_large(void* memory, size_t bytes) {
    Block* block =
        bytes <= LARGEST_KEPT && !madvise(memory, bytes, MADV_FREE) ? new (std::nothrow) Block{memory, bytes} : nullptr;
    if (!block) return std::free(memory);
    drop(kept.exchange(block));
}

#endif

}  // namespace

ResultMemory::ResultMemory(size_t bytes) : bytes(bytes) {
#if defined(__linux__)
    if (bytes >= LARGE) {
        at = take_large(rounded(bytes));
        return;
    }
#endif
    at = checked(std::malloc(bytes ? bytes : 1));
}

ResultMemory::~ResultMemory() {
#if defined(__linux__)
    if (bytes >= LARGE) {
        keep_large(at, rounded(bytes));
        return;
    }
#endif
    std::free(at);
}

}  // namespace noppa
