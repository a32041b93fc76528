#include "pooling/batch.hpp"

#include <algorithm>
#include <cstring>

#include "pooling/instruction_sets.hpp"
#include "sizes.hpp"
#include "thread_memory.hpp"
#include "workers.hpp"

namespace noppa {
namespace {

constexpr int64_t MOST_ROWS = 64;  // rows refined together: they fit the second-level cache
// Results that one thread writes in a row: two huge pages, so that two threads seldom come to a new one at once, which the
// system would clear for both.
constexpr int64_t TASK_BYTES = int64_t(4) << 20;
constexpr int64_t MOST_PREFETCHED = 32;

struct TaskMemory {
    Buffer sentence, piece, pooled, turns[2], amounts;

    static TaskMemory& of_thread() {
        thread_local TaskMemory memory;
        return memory;
    }
    void release_if_large() {
        for (Buffer* each : {&sentence, &piece, &pooled, &turns[0], &turns[1], &amounts}) each->release_if_large();
    }
};

void prefetch(const void* from, int64_t bytes) {
    const char *first = static_cast<const char*>(from), *last = first + bytes - 1;
    for (const char* at = first; at < last; at += 64) __builtin_prefetch(at);
    __builtin_prefetch(last);
}

// The rows of a sentence lie far apart in memory: those of the next sentence are fetched while this one is pooled.
void prefetch(const Table& table, const int32_t* ids, int64_t tokens) {
    const int64_t scale_bytes = table.block_count * (table.half_scales ? 2 : 4);
    for (int64_t t = 0; t < std::min(tokens, MOST_PREFETCHED); ++t) {
        const int64_t id = ids[t];
        if (id < 0 || id >= table.words) continue;
        prefetch(static_cast<const char*>(table.rows) + id * table.row_apart, table.row_bytes);
        if (table.scales) prefetch(static_cast<const char*>(table.scales) + id * scale_bytes, scale_bytes);
    }
}

int64_t width_after(const std::vector<Step>& steps, int64_t width) {
    for (const Step& step : steps) width = step.out;
    return width;
}

// Pooled rows to final rows through two buffers that take turns; the last step writes into place.
void refine(ApplyStep* apply_step, const std::vector<Step>& steps, const float* pooled, int64_t width,
            const int32_t* known, int64_t count, TaskMemory& memory, float* rows) {
    const int64_t last = width_after(steps, width);
    if (steps.empty() && rows != pooled) std::memcpy(rows, pooled, size_t(count * width) * sizeof(float));
    const float* from = pooled;
    for (size_t at = 0; at < steps.size(); ++at) {
        const bool last_one = at + 1 == steps.size();
        float* to = last_one ? rows : memory.turns[at % 2].take_floats(times(count, steps[at].out));
        apply_step(steps[at], from, count, memory.amounts.take_floats(4 * steps[at].inner), to);
        from = to;
    }
    if (known)
        for (int64_t r = 0; r < count; ++r)
            if (!known[r]) std::fill(rows + r * last, rows + (r + 1) * last, 0.0f);
}

// A row that threads have shared, before the batch they share out.
struct SharedRow {
    int64_t sentence;
    int32_t known;
    std::vector<float> row;
};

// A sentence is shared where one thread would still work on it while the others have nothing left.
std::vector<SharedRow> share_long(const Method& method, const Batch& batch, int threads) {
    std::vector<SharedRow> shared;
    const auto tokens_of = [&](int64_t at) { return batch.offsets[at + 1] - batch.offsets[at]; };
    double total = 0;
    for (int64_t at = 0; threads > 1 && at < batch.sentences; ++at) total += method.cost(double(tokens_of(at)));
    for (int64_t at = 0; threads > 1 && at < batch.sentences; ++at) {
        const int64_t tokens = tokens_of(at);
        if (!method.can_share(tokens) || 2.0 * threads * method.cost(double(tokens)) < total) continue;
        TaskMemory& memory = TaskMemory::of_thread();
        SharedRow one{at, 0, std::vector<float>(size_t(method.width))};
        one.known = int32_t(method.pool_shared(batch.ids + batch.offsets[at], tokens, Sharing{threads},
                                               memory.sentence.take(method.scratch_bytes(tokens)), one.row.data()));
        memory.release_if_large();
        shared.push_back(std::move(one));
    }
    return shared;
}

const SharedRow* find(const std::vector<SharedRow>& shared, int64_t sentence) {
    const auto place = std::lower_bound(shared.begin(), shared.end(), sentence,
                                        [](const SharedRow& one, int64_t at) { return one.sentence < at; });
    return place != shared.end() && place->sentence == sentence ? &*place : nullptr;
}

}  // namespace

void Sharing::run(int64_t count, size_t scratch_bytes, void (*piece)(void*, int64_t, void*), void* context) const {
    run_tasks(count, threads, [=](int64_t number) {
        TaskMemory& memory = TaskMemory::of_thread();
        piece(context, number, memory.piece.take(scratch_bytes));
        memory.piece.release_if_large();
    });
}

void pool_batch(const Pooling& pooling, const Batch& batch, const std::vector<Step>& steps, int threads, float* rows,
                int32_t* known) {
    const size_t live = live_set();
    const Method& method = pooling.method(live);
    ApplyStep* const apply_step = compiled_sets()[live].apply_step;
    const int64_t width = method.width, last = width_after(steps, width);
    double steps_cost = 0;
    for (const Step& step : steps)
        steps_cost += 0.1 * double(step.in) * double(step.kind == STEP_MAP ? step.out : step.inner);
    const std::vector<SharedRow> shared = share_long(method, batch, threads);
    const auto tokens_of = [&](int64_t at) { return find(shared, at) ? 0 : batch.offsets[at + 1] - batch.offsets[at]; };
    const auto cost = [&](int64_t at) { return 200.0 + steps_cost + method.cost(double(tokens_of(at))); };
    const int64_t most_rows = std::max(MOST_ROWS, TASK_BYTES / (std::max<int64_t>(last, 1) * int64_t(sizeof(float))));
    const auto pool_rows = [&](int64_t first, int64_t count) {
        TaskMemory& memory = TaskMemory::of_thread();
        float* pooled = steps.empty() ? rows + first * width : memory.pooled.take_floats(times(count, width));
        int64_t longest = 0;
        for (int64_t r = 0; r < count; ++r) longest = std::max(longest, tokens_of(first + r));
        void* scratch = memory.sentence.take(method.scratch_bytes(longest));
        for (int64_t r = 0; r < count; ++r) {
            const int64_t begin = batch.offsets[first + r], tokens = batch.offsets[first + r + 1] - begin;
            if (const SharedRow* done = find(shared, first + r)) {
                std::copy(done->row.begin(), done->row.end(), pooled + r * width);
                known[first + r] = done->known;
                continue;
            }
            if (r + 1 < count)
                prefetch(method.table, batch.ids + begin + tokens, batch.offsets[first + r + 2] - begin - tokens);
            known[first + r] = int32_t(method.pool(batch.ids + begin, tokens, scratch, pooled + r * width));
        }
        refine(apply_step, steps, pooled, width, known + first, count, memory, rows + first * last);
        memory.release_if_large();
    };
    const auto cuts = cut_by_cost(batch.sentences, threads, most_rows, cost);
    run_tasks(int64_t(cuts.size()) - 1, threads, [&](int64_t task) {
        const int64_t stop = cuts[size_t(task) + 1];
        for (int64_t at = cuts[size_t(task)]; at < stop; at += MOST_ROWS) pool_rows(at, std::min(MOST_ROWS, stop - at));
    });
}

void apply_steps(const float* pooled, int64_t width, const int32_t* known, int64_t count,
                 const std::vector<Step>& steps, int threads, float* rows) {
    const int64_t last = width_after(steps, width);
    ApplyStep* const apply_step = compiled_sets()[live_set()].apply_step;
    const int64_t tasks = (count + MOST_ROWS - 1) / MOST_ROWS;
    run_tasks(tasks, threads, [&](int64_t task) {
        const int64_t first = task * MOST_ROWS, some = std::min(MOST_ROWS, count - first);
        TaskMemory& memory = TaskMemory::of_thread();
        refine(apply_step, steps, pooled + first * width, width, known ? known + first : nullptr, some, memory,
               rows + first * last);
        memory.release_if_large();
    });
}

}  // namespace noppa
