#include "workers.hpp"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
static long process_id() { return long(getpid()); }
#else
static long process_id() { return 0; }
#endif

namespace noppa {
namespace {

class Workers {
  public:
    void run(int64_t count, int helpers, const std::function<void(int64_t)>& task) {
        {
            std::lock_guard<std::mutex> hold(lock_);
            while (int(threads_.size()) < helpers) threads_.emplace_back([this] { serve(); });
            task_ = &task;
            count_ = count;
            next_.store(0);
            wanted_ = helpers;
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
    std::vector<std::thread> threads_;
    const std::function<void(int64_t)>* task_ = nullptr;
    std::atomic<int64_t> next_{0};
    int64_t count_ = 0;
    uint64_t round_ = 0;
    int wanted_ = 0, busy_ = 0;
    std::exception_ptr failure_;
};

// A child of fork() has none of its parent's threads: it gets a new set, and the old one is left alone. The set is
// never destroyed, since its threads wait until the process ends.
struct Owner {
    long process = -1;
    Workers* workers = nullptr;
    std::atomic_flag busy = ATOMIC_FLAG_INIT;
};
Owner owner;

}  // namespace

void run_tasks(int64_t count, int threads, const std::function<void(int64_t)>& task) {
    const long here = process_id();
    if (owner.workers && owner.process != here) {
        owner.workers = nullptr;
        owner.busy.clear();
    }
    if (threads < 2 || count < 2 || owner.busy.test_and_set()) {
        for (int64_t at = 0; at < count; ++at) task(at);
        return;
    }
    if (!owner.workers) {
        owner.workers = new Workers;
        owner.process = here;
    }
    struct Release {
        ~Release() { owner.busy.clear(); }
    } release;
    owner.workers->run(count, int(threads < count ? threads : count) - 1, task);
}

}  // namespace noppa
