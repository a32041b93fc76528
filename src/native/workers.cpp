#include "workers.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#define NOPPA_HAS_FORK 1
#endif

namespace noppa {
namespace {

class Workers {
  public:
    void run(int64_t count, int helpers, const std::function<void(int64_t)>& task) {
        {
            std::lock_guard<std::mutex> hold(lock_);
            start(helpers);
            task_ = &task;
            count_ = count;
            next_.store(0);
            wanted_ = std::min(helpers, started_);
            ++round_;
        }
        wake_.notify_all();
        work();
        std::unique_lock<std::mutex> hold(lock_);
        wanted_ = 0;  // helpers that have not started yet need not
        done_.wait(hold, [this] { return busy_ == 0; });
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    }

  private:
    // The threads wait until the process ends. One that the system refuses is one fewer: the caller works in any case.
    void start(int helpers) {
        try {
            for (; started_ < helpers; ++started_) std::thread([this] { serve(); }).detach();
        } catch (const std::exception&) {
        }
    }

    void work() {
        try {
            for (int64_t at; (at = next_.fetch_add(1)) < count_;) (*task_)(at);
        } catch (...) {
            next_.store(count_);
            std::lock_guard<std::mutex> hold(lock_);
            failure_ = std::current_exception();
        }
    }

    void serve() {
        uint64_t seen = 0;
        std::unique_lock<std::mutex> hold(lock_);
        for (;;) {
            wake_.wait(hold, [&] { return round_ != seen && wanted_ > 0; });
            seen = round_;
            --wanted_;
            ++busy_;
            hold.unlock();
            work();
            hold.lock();
            if (--busy_ == 0) done_.notify_all();
        }
    }

    std::mutex lock_;
    std::condition_variable wake_, done_;
    const std::function<void(int64_t)>* task_ = nullptr;
    std::atomic<int64_t> next_{0};
    int64_t count_ = 0;
    uint64_t round_ = 0;
    int started_ = 0, wanted_ = 0, busy_ = 0;
    std::exception_ptr failure_;
};

// Whoever sets `busy` owns the set of threads until it clears it; nothing else here is shared.
std::atomic_flag busy = ATOMIC_FLAG_INIT;
Workers* workers = nullptr;

#if defined(NOPPA_HAS_FORK)
// A child of fork() has none of its parent's threads: it gets a new set, and the old one is left alone.
const int watching_forks = pthread_atfork(nullptr, nullptr, [] {
    workers = nullptr;
    busy.clear();
});
#endif

// More threads than this wait for one another: tasks do nothing but compute.
int most_threads() {
    static const int most = std::max(8, 2 * int(std::thread::hardware_concurrency()));
    return most;
}

}  // namespace

void run_tasks(int64_t count, int threads, const std::function<void(int64_t)>& task) {
    if (threads < 2 || count < 2 || busy.test_and_set()) {
        for (int64_t at = 0; at < count; ++at) task(at);
        return;
    }
    struct Release {
        ~Release() { busy.clear(); }
    } release;
    if (!workers) workers = new Workers;
    workers->run(count, int(std::min<int64_t>(std::min(threads, most_threads()), count)) - 1, task);
}

std::vector<int64_t> cut_by_cost(int64_t count, int threads, int64_t most_items,
                                 const std::function<double(int64_t)>& cost) {
    constexpr double LEAST_COST = 40e3;  // waking a thread costs about a quarter of it
    double total = 0;
    for (int64_t at = 0; at < count; ++at) total += cost(at);
    constexpr double TASKS = 24;  // of each thread: one that ends last works alone for one of them at most
    const double enough = std::max(LEAST_COST, total / (TASKS * threads));
    std::vector<int64_t> cuts{0};
    double run = 0;
    for (int64_t at = 0; at < count; ++at) {
        run += cost(at);
        if (run >= enough || at + 1 - cuts.back() >= most_items) {
            cuts.push_back(at + 1);
            run = 0;
        }
    }
    if (cuts.back() != count) cuts.push_back(count);
    return cuts;
}

}  // namespace noppa
