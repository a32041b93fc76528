// One persistent set of threads for the process.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace noppa {

// Calls task(0) … task(count - 1), on up to `threads` threads with the caller's among them, and returns when all are done.
// Tasks are handed out one by one in order. While another call is running, this one runs in its caller alone.
void run_tasks(int64_t count, int threads, const std::function<void(int64_t)>& task);

// Cuts [0, count) into runs of about equal cost, in order: the bounds of the runs, of which a task each can be made. A run
// costs enough to be worth waking a thread for and has at most `most_items`; `cost` is in nanoseconds.
std::vector<int64_t> cut_by_cost(int64_t count, int threads, int64_t most_items,
                                 const std::function<double(int64_t)>& cost);

}  // namespace noppa
