#include "batch.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>

#include "sizes.hpp"
#include "workers.hpp"

namespace noppa {
namespace {

struct Set {
    const Kernels& (*kernels)();
    bool (*runs_here)();
};

const Set SETS[] = {
    {kernels_base, [] { return true; }},
#if defined(NOPPA_HAS_V3)
    {kernels_v3,
     [] {
         return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                __builtin_cpu_supports("bmi2");
     }},
#endif
#if defined(NOPPA_HAS_V4)
    {kernels_v4,
     [] {
         return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512vl");
     }},
#endif
};

const Kernels* fastest() {
    const Kernels* best = nullptr;
    for (const Set& set : SETS)
        if (set.runs_here()) best = &set.kernels();
    return best;
}

std::atomic<const Kernels*> live{fastest()};

// Cuts [0, count) into runs of about equal cost, in order; a run below `least` is joined with the next.
std::vector<int64_t> cut_by_cost(int64_t count, int threads, double least, int64_t most_items,
                                 const std::function<double(int64_t)>& cost) {
    double total = 0;
    for (int64_t at = 0; at < count; ++at) total += cost(at);
    const double wanted = std::max(least, total / (8.0 * threads));
    std::vector<int64_t> cuts{0};
    double run = 0;
    for (int64_t at = 0; at < count; ++at) {
        run += cost(at);
        if (run >= wanted || at + 1 - cuts.back() >= most_items) {
            cuts.push_back(at + 1);
            run = 0;
        }
    }
    if (cuts.back() != count) cuts.push_back(count);
    return cuts;
}

constexpr double LEAST_COST = 40e3;  // nanoseconds; waking a thread costs about a quarter of it
constexpr int64_t MOST_ROWS = 64;    // rows refined together: they fit the second-level cache
constexpr int64_t MOST_PREFETCHED = 32;

// A thread's own memory for a task. It stays with the thread, for the next task, unless it grew large.
class Scratch {
  public:
    void* take(size_t bytes) {
        if (bytes > memory_.size()) memory_ = std::vector<char>(bytes);
        return memory_.data();
    }
    float* take_floats(int64_t count) { return static_cast<float*>(take(size_t(times(count, sizeof(float))))); }
    void give_back() { release_if_large(&memory_); }

  private:
    std::vector<char> memory_;
};

struct TaskMemory {
    Scratch sentence, pooled, turns[2], amounts;

    static TaskMemory& of_thread() {
        thread_local TaskMemory memory;
        return memory;
    }
    void give_back() {
        for (Scratch* each : {&sentence, &pooled, &turns[0], &turns[1], &amounts}) each->give_back();
    }
};

// The rows of a sentence lie far apart in memory: asking for the next sentence's while this one is worked on lets them
// arrive in time.
void prefetch(const Table& table, const int32_t* ids, int64_t tokens) {
    const int64_t size = table.storage == FLOAT32 ? 4 : table.storage == FLOAT16 ? 2 : 1;
    const int64_t bytes = table.dim * size, apart = table.stride * size;
    for (int64_t t = 0; t < std::min(tokens, MOST_PREFETCHED); ++t)
        if (ids[t] >= 0 && ids[t] < table.words)
            for (int64_t at = 0; at < bytes; at += 64)
                __builtin_prefetch(static_cast<const char*>(table.rows) + int64_t(ids[t]) * apart + at);
}

int64_t width_after(const std::vector<Step>& steps, int64_t width) {
    for (const Step& step : steps) width = step.out;
    return width;
}

// Pooled rows to final rows through two buffers that take turns; the last step writes into place.
void refine(const std::vector<Step>& steps, const float* pooled, int64_t width, const int32_t* known, int64_t count,
            TaskMemory& memory, float* rows) {
    const int64_t last = width_after(steps, width);
    if (steps.empty() && rows != pooled) std::memcpy(rows, pooled, size_t(count * width) * sizeof(float));
    const float* from = pooled;
    for (size_t at = 0; at < steps.size(); ++at) {
        const bool last_one = at + 1 == steps.size();
        float* to = last_one ? rows : memory.turns[at % 2].take_floats(times(count, steps[at].out));
        kernels().step(steps[at], from, count, memory.amounts.take_floats(4 * steps[at].inner), to);
        from = to;
    }
    if (known)
        for (int64_t r = 0; r < count; ++r)
            if (!known[r]) std::fill(rows + r * last, rows + (r + 1) * last, 0.0f);
}

}  // namespace

const Kernels& kernels() { return *live.load(std::memory_order_relaxed); }

std::vector<const char*> instruction_sets() {
    std::vector<const char*> names;
    for (const Set& set : SETS)
        if (set.runs_here()) names.push_back(set.kernels().name);
    return names;
}

bool use_instruction_set(const char* name) {
    for (const Set& set : SETS)
        if (set.runs_here() && !std::strcmp(set.kernels().name, name)) {
            live = &set.kernels();
            return true;
        }
    return false;
}

Ids look_up(const Vocabulary& vocabulary, const std::vector<Text>& texts, int threads) {
    const auto cost = [&](int64_t at) { return 100.0 + 6.0 * double(texts[size_t(at)].length); };
    const auto cuts = cut_by_cost(int64_t(texts.size()), threads, LEAST_COST, INT64_MAX, cost);
    Ids found;
    found.offsets.resize(texts.size() + 1);
    std::vector<std::vector<int32_t>> parts(cuts.size() - 1);
    run_tasks(int64_t(parts.size()), threads, [&](int64_t task) {
        thread_local Scanner scanner;
        thread_local Vocabulary::Scratch scratch;
        std::vector<int32_t>& part = parts[size_t(task)];
        for (int64_t at = cuts[size_t(task)]; at < cuts[size_t(task) + 1]; ++at) {
            for (const Token& token : scanner.tokens(texts[size_t(at)])) vocabulary.look_up(token, &scratch, &part);
            found.offsets[size_t(at) + 1] = int64_t(part.size());
        }
        scanner.give_back();
    });
    for (size_t task = 0; task < parts.size(); ++task) {
        const int64_t before = int64_t(found.ids.size());
        for (int64_t at = cuts[task]; at < cuts[task + 1]; ++at) found.offsets[size_t(at) + 1] += before;
        if (parts.size() == 1) found.ids = std::move(parts[0]);
        else found.ids.insert(found.ids.end(), parts[task].begin(), parts[task].end());
    }
    return found;
}

Ids look_up_tokens(const Vocabulary& vocabulary, const std::vector<Text>& tokens, const std::vector<int64_t>& bounds) {
    Ids found;
    found.offsets.push_back(0);
    found.ids.reserve(tokens.size());
    std::vector<Code> codes;
    Vocabulary::Scratch scratch;
    for (size_t sentence = 0; sentence + 1 < bounds.size(); ++sentence) {
        for (int64_t t = bounds[sentence]; t < bounds[sentence + 1]; ++t) {
            const Text& token = tokens[size_t(t)];
            codes.resize(size_t(token.length));
            for (int64_t at = 0; at < token.length; ++at) codes[size_t(at)] = code_at(token, at);
            vocabulary.look_up({codes.data(), token.length}, &scratch, &found.ids);
        }
        found.offsets.push_back(int64_t(found.ids.size()));
    }
    return found;
}

namespace {

// One sentence at a time through `pool`, which gives the known tokens, with scratch for the longest of a task;
// runs of sentences are refined together.
template <class Cost, class Bytes, class Pool>
void pool_batch(const Table& table, const Batch& batch, int64_t width, const std::vector<Step>& steps, int threads,
                float* rows, int32_t* known, const Cost& cost_of, const Bytes& scratch_of, const Pool& pool) {
    const int64_t last = width_after(steps, width);
    double steps_cost = 0;
    for (const Step& step : steps)
        steps_cost += 0.1 * double(step.in) * double(step.kind == Step::MAP ? step.out : step.inner);
    const auto cost = [&](int64_t at) {
        return 200.0 + steps_cost + cost_of(double(batch.offsets[at + 1] - batch.offsets[at]));
    };
    const auto cuts = cut_by_cost(batch.sentences, threads, LEAST_COST, MOST_ROWS, cost);
    run_tasks(int64_t(cuts.size()) - 1, threads, [&](int64_t task) {
        TaskMemory& memory = TaskMemory::of_thread();
        const int64_t first = cuts[size_t(task)], count = cuts[size_t(task) + 1] - first;
        float* pooled = steps.empty() ? rows + first * width : memory.pooled.take_floats(times(count, width));
        int64_t longest = 0;
        for (int64_t r = 0; r < count; ++r)
            longest = std::max(longest, batch.offsets[first + r + 1] - batch.offsets[first + r]);
        void* scratch = memory.sentence.take(scratch_of(longest));
        for (int64_t r = 0; r < count; ++r) {
            const int64_t begin = batch.offsets[first + r], tokens = batch.offsets[first + r + 1] - begin;
            if (r + 1 < count)
                prefetch(table, batch.ids + begin + tokens, batch.offsets[first + r + 2] - begin - tokens);
            known[first + r] = int32_t(pool(batch.ids + begin, tokens, scratch, pooled + r * width));
        }
        refine(steps, pooled, width, known + first, count, memory, rows + first * last);
        memory.give_back();
    });
}

}  // namespace

void pool_noppa(const Table& table, const Noppa& noppa, const Batch& batch, const std::vector<Step>& steps, int threads,
                float* rows, int32_t* known) {
    const auto cost = [&](double n) { return double(table.dim) * n * (1.0 + 0.15 * n); };
    pool_batch(
        table, batch, noppa.width, steps, threads, rows, known, cost,
        [&](int64_t longest) { return kernels().noppa_scratch(longest, table.dim); },
        [&](const int32_t* ids, int64_t tokens, void* scratch, float* row) {
            return kernels().noppa(table, noppa, ids, tokens, scratch, row);
        });
}

void pool_words(const Table& table, const Pooling& pooling, const Batch& batch, const std::vector<Step>& steps,
                int threads, float* rows, int32_t* known) {
    const double slots = double(pooling.slots), dim = double(table.dim);
    const auto cost = [&](double n) {
        if (pooling.kind == Pooling::DCT) return 0.3 * dim * n * slots;
        if (pooling.kind == Pooling::GEM) return 0.3 * dim * n * (slots + n);
        return 0.3 * dim * (n + slots * slots);
    };
    pool_batch(
        table, batch, pooling.width, steps, threads, rows, known, cost,
        [&](int64_t longest) { return kernels().pools->scratch(table, pooling, longest); },
        [&](const int32_t* ids, int64_t tokens, void* scratch, float* row) {
            return kernels().pools->pool(table, pooling, ids, tokens, scratch, row);
        });
}

void apply_steps(const float* pooled, int64_t width, const int32_t* known, int64_t count, const std::vector<Step>& steps,
                 int threads, float* rows) {
    const int64_t last = width_after(steps, width);
    const int64_t tasks = (count + MOST_ROWS - 1) / MOST_ROWS;
    run_tasks(tasks, threads, [&](int64_t task) {
        const int64_t first = task * MOST_ROWS, some = std::min(MOST_ROWS, count - first);
        TaskMemory& memory = TaskMemory::of_thread();
        refine(steps, pooled + first * width, width, known ? known + first : nullptr, some, memory, rows + first * last);
        memory.give_back();
    });
}

}  // namespace noppa
