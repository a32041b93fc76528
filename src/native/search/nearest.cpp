#include "search/nearest.hpp"

#include <algorithm>
#include <limits>

#include "pooling/instruction_sets.hpp"
#include "workers.hpp"

namespace noppa {
namespace {

constexpr int64_t BLOCK = 256;  // rows that are compared at a time, so that their scores stay in the cache
constexpr int64_t GROUP = 64;   // queries that share a pass over the rows
// Rows that are worth waking a thread for, as they are stored and as codes, and texts that hold a term.
constexpr int64_t LEAST_ROWS = 1 << 12, LEAST_CODES = 1 << 14, LEAST_TEXTS = 1 << 15;

bool is_better(const Scored& a, const Scored& b) { return a.score > b.score || (a.score == b.score && a.row < b.row); }

// The best so far: twice as many as are wanted at most, of which the worse half is dropped at a time.
class Best {
  public:
    explicit Best(int64_t most) : most_(size_t(most)) {}

    void offer(float score, int64_t row) {
        if (!(score >= least_)) return;  // nor what is no number, which a damaged file may hold
        kept_.push_back({score, row});
        if (kept_.size() == 2 * most_) drop_the_worse();
    }

    // No lower score is taken.
    float least() const { return least_; }
    const std::vector<Scored>& kept() const { return kept_; }

  private:
    void drop_the_worse() {
        std::nth_element(kept_.begin(), kept_.begin() + int64_t(most_) - 1, kept_.end(), is_better);
        kept_.resize(most_);
        least_ = kept_.back().score;
    }

    std::vector<Scored> kept_;
    size_t most_;
    float least_ = -std::numeric_limits<float>::infinity();
};

// Sorted, and no more than are wanted.
std::vector<Scored> sorted(std::vector<Scored> all, int64_t most) {
    std::sort(all.begin(), all.end(), is_better);
    if (all.size() > size_t(most)) all.resize(size_t(most));
    return all;
}

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
            const std::vector<Scored>& kept = found[size_t(q / GROUP * runs + run)][size_t(q % GROUP)].kept();
            all.insert(all.end(), kept.begin(), kept.end());
        }
        results.push_back(sorted(std::move(all), most));
    }
    return results;
}

namespace {

// The places from `start` up to `stop`, which lie in one cell.
void search_codes(const CodedCells& searched, const int16_t* query, int64_t start, int64_t stop, Best& best) {
    const CodeKernels& kernels = *compiled_sets()[live_set()].code_kernels;
    int32_t dots[BLOCK];
    for (int64_t first = start; first < stop; first += BLOCK) {
        const int64_t count = std::min(BLOCK, stop - first);
        kernels.dots_of_one(query, searched.codes + first * searched.dim, count, searched.dim, dots);
        for (int64_t i = 0; i < count; ++i) {
            const float score = float(dots[i]) * searched.scales[first + i];
            if (!(score >= best.least())) continue;
            const int32_t row = searched.rows[first + i];
            if (!searched.allowed || searched.allowed[row]) best.offer(score, row);
        }
    }
}

}  // namespace

std::vector<Scored> nearest_codes(const CodedCells& searched, const float* query, int64_t most, int threads) {
    std::vector<int64_t> before(size_t(searched.cells + 1));  // places of the cells before each
    for (int64_t c = 0; c < searched.cells; ++c)
        before[size_t(c + 1)] = before[size_t(c)] + searched.stops[c] - searched.starts[c];
    const int64_t total = before.back(), runs = std::max<int64_t>(1, std::min<int64_t>(total / LEAST_CODES, threads));
    most = std::max<int64_t>(1, std::min(most, total));
    std::vector<int8_t> code(static_cast<size_t>(searched.dim));
    compiled_sets()[live_set()].code_kernels->encode(query, searched.dim, code.data());
    const std::vector<int16_t> wide(code.begin(), code.end());
    std::vector<Best> found(static_cast<size_t>(runs), Best(most));
    run_tasks(runs, threads, [&](int64_t run) {
        const int64_t first = total * run / runs, last = total * (run + 1) / runs;
        for (int64_t c = 0; c < searched.cells; ++c) {
            const int64_t start = std::max(first, before[size_t(c)]), stop = std::min(last, before[size_t(c + 1)]);
            const int64_t offset = searched.starts[c] - before[size_t(c)];
            if (start < stop) search_codes(searched, wide.data(), start + offset, stop + offset, found[size_t(run)]);
        }
    });
    std::vector<Scored> all;
    for (const Best& best : found) all.insert(all.end(), best.kept().begin(), best.kept().end());
    return sorted(std::move(all), most);
}

void add_term(float* scores, const int32_t* rows, const uint16_t* counts, int64_t count, const uint32_t* lengths,
              float weight, float flat, float sloped, int threads) {
    const int64_t runs = std::max<int64_t>(1, std::min<int64_t>(count / LEAST_TEXTS, threads));
    run_tasks(runs, threads, [&](int64_t run) {
        const int64_t stop = count * (run + 1) / runs;
        for (int64_t at = count * run / runs; at < stop; ++at) {
            const float times = float(counts[at]);
            scores[rows[at]] += weight * times / (times + (flat + sloped * float(lengths[rows[at]])));
        }
    });
}

}  // namespace noppa
