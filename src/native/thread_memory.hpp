// Memory that a thread keeps from one task to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sizes.hpp"

namespace noppa {

// Buffers larger than this are freed after a task.
constexpr size_t LARGEST_KEPT_BYTES = size_t(4) << 20;

template <class T>
void release_if_large(std::vector<T>* memory) {
    if (memory->capacity() * sizeof(T) > LARGEST_KEPT_BYTES) std::vector<T>().swap(*memory);
}

class Buffer {
  public:
    void* take(size_t bytes) {
        if (bytes > memory_.size()) memory_ = std::vector<char>(bytes);
        return memory_.data();
    }
    float* take_floats(int64_t count) { return static_cast<float*>(take(size_t(times(count, sizeof(float))))); }
    void release_if_large() { noppa::release_if_large(&memory_); }

  private:
    std::vector<char> memory_;
};

}  // namespace noppa
