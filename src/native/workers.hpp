// One persistent set of threads for the process.
#pragma once

#include <cstdint>
#include <functional>

namespace noppa {

// Calls task(0) … task(count - 1), on up to `threads` threads with the caller's among them, and returns when all are done.
// Tasks are handed out one by one in order. While another call is running, this one runs in its caller alone.
void run_tasks(int64_t count, int threads, const std::function<void(int64_t)>& task);

}  // namespace noppa
