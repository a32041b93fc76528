#include "kept_memory.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace noppa {

#if defined(__linux__)

namespace {

constexpr size_t HUGE_PAGE = size_t(2) << 20, LEAST = 2 * HUGE_PAGE, MOST = size_t(256) << 20;
constexpr size_t MOST_ROOM = 8;  // times what is needed

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

}  // namespace

bool KeptMemory::suits(size_t bytes) { return bytes >= LEAST; }

KeptMemory::KeptMemory(size_t asked) : bytes((asked + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE), at(nullptr) {
    Block* block = kept.exchange(nullptr);
    if (block && block->bytes >= bytes && block->bytes <= MOST_ROOM * bytes) {
        at = block->at;
        bytes = block->bytes;
        delete block;
        return;
    }
    drop(block);
    at = std::aligned_alloc(HUGE_PAGE, bytes);
    if (!at) throw std::bad_alloc();
    madvise(at, bytes, MADV_HUGEPAGE);
}

KeptMemory::~KeptMemory() {
    Block* block = bytes <= MOST && !madvise(at, bytes, MADV_FREE) ? new (std::nothrow) Block{at, bytes} : nullptr;
    if (block) drop(kept.exchange(block));
    else std::free(at);
}

#else

bool KeptMemory::suits(size_t) { return false; }
KeptMemory::KeptMemory(size_t) : bytes(0), at(nullptr) {}
KeptMemory::~KeptMemory() = default;

#endif

}  // namespace noppa
