#include "search/nearest.hpp"

#include <algorithm>

#include "pooling/instruction_sets.hpp"
#include "workers.hpp"

namespace noppa {
namespace {

constexpr int64_t BLOCK = 256;           // rows that are compared at a time, so that their scores stay in the cache
constexpr int64_t GROUP = 64;            // queries that share a pass over the rows
constexpr int64_t LEAST_ROWS = 1 << 12;  // rows that are worth waking a thread for

bool is_better(const Scored& a, const Scored& b) { return a.score > b.score || (a.score == b.score && a.row < b.row); }

// The best so far, the worst of them in front.
class Best {
  public:
    explicit Best(int64_t most) : most_(size_t(most)) {}

    void offer(float score, int64_t row) {
        if (kept_.size() == most_) {
            if (!is_better({score, row}, kept_.front())) return;
            std::pop_heap(kept_.begin(), kept_.end(), is_better);
            kept_.back() = {score, row};
        } else {
            if (score != score) return;  // a damaged file may hold what is no number
            kept_.push_back({score, row});
        }
        std::push_heap(kept_.begin(), kept_.end(), is_better);
    }

    std::vector<Scored> kept_;

  private:
    size_t most_;
};

using Lists = std::vector<Best>;

// Compares the rows at the places from `start` up to `stop` with as many queries as there are lists, from `first` on.
void search_run(const Searched& searched, DotRows* dot_rows, int64_t first, int64_t start, int64_t stop, Lists& lists) {
    const int64_t queries = int64_t(lists.size());
    const float* rows_of_queries = searched.queries + first * searched.table.dim;
    std::vector<float> scratch(size_t(searched.table.dim)), scores(size_t(queries * BLOCK));
    int32_t ids[BLOCK];
    for (int64_t at = start; at < stop;) {
        int64_t count = 0;
        for (; at < stop && count < BLOCK; ++at) {
            const int32_t row = searched.rows ? searched.rows[at] : int32_t(at);
            if (!searched.allowed || searched.allowed[row]) ids[count++] = row;
        }
        dot_rows(searched.table, ids, count, rows_of_queries, queries, scratch.data(), scores.data());
        for (int64_t q = 0; q < queries; ++q) {
            const float* bonus = searched.bonus ? searched.bonus + (first + q) * searched.table.words : nullptr;
            for (int64_t i = 0; i < count; ++i)
                lists[size_t(q)].offer(scores[size_t(q * count + i)] + (bonus ? bonus[ids[i]] : 0), ids[i]);
        }
    }
}

}  // namespace

std::vector<std::vector<Scored>> nearest_rows(const Searched& searched, int64_t most, int threads) {
    DotRows* dot_rows = compiled_sets()[live_set()].dot_rows;
    const int64_t runs = std::max<int64_t>(1, std::min<int64_t>(searched.count / LEAST_ROWS, 4 * threads));
    most = std::min(most, searched.count);
    const int64_t groups = (searched.query_count + GROUP - 1) / GROUP;
    std::vector<Lists> found(size_t(groups * runs));
    run_tasks(groups * runs, threads, [&](int64_t task) {
        const int64_t run = task % runs, first = task / runs * GROUP;
        const int64_t start = searched.count * run / runs, stop = searched.count * (run + 1) / runs;
        Lists& lists = found[size_t(task)];
        lists.resize(size_t(std::min(GROUP, searched.query_count - first)), Best(most));
        search_run(searched, dot_rows, first, start, stop, lists);
    });
    std::vector<std::vector<Scored>> results;
    for (int64_t q = 0; q < searched.query_count; ++q) {
        std::vector<Scored> all;
        for (int64_t run = 0; run < runs; ++run) {
            const std::vector<Scored>& kept = found[size_t(q / GROUP * runs + run)][size_t(q % GROUP)].kept_;
            all.insert(all.end(), kept.begin(), kept.end());
        }
        std::sort(all.begin(), all.end(), is_better);
        if (all.size() > size_t(most)) all.resize(size_t(most));
        results.push_back(std::move(all));
    }
    return results;
}

void add_term(float* scores, const int32_t* rows, const uint16_t* counts, int64_t count, const uint32_t* lengths,
              float weight, float flat, float sloped) {
    for (int64_t at = 0; at < count; ++at) {
        const float times = float(counts[at]);
        scores[rows[at]] += weight * times / (times + (flat + sloped * float(lengths[rows[at]])));
    }
}

}  // namespace noppa
