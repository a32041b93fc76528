#include "duplicates/leaders.hpp"

#include <algorithm>
#include <cmath>

#include "pooling/instruction_sets.hpp"
#include "workers.hpp"

namespace noppa {
namespace {

// Rows that are compared together with those kept before: each cell is read once for all of them. Then some of them at a time
// are compared with each other: of many that are nearly the same, all but a few have met a kept one by then.
constexpr int64_t BLOCK_ROWS = 4096, SOME_ROWS = 256;
// Rows of a cell whose dot products are computed at a time, queries of a task, and rows of a task that looks for cells.
constexpr int64_t TILE = 256, TASK_QUERIES = 32, TASK_ROWS = 64;
// Float32 rounding of rows of length one.
constexpr float ROUNDING = 1e-6f, LENGTH_SLACK = 1e-4f;

const CodeKernels& kernels() { return *compiled_sets()[live_set()].code_kernels; }

// The codes of up to QUERIES rows, widened; missing ones are zeros.
struct Queries {
    std::vector<int16_t> wide;
    explicit Queries(int64_t dim) : wide(size_t(QUERIES * dim)) {}

    template <class CodeOf>
    void fill(int64_t count, int64_t dim, const CodeOf& code_of) {
        for (int64_t q = 0; q < QUERIES; ++q) {
            int16_t* to = wide.data() + q * dim;
            if (q < count) std::copy_n(code_of(q), dim, to);
            else std::fill_n(to, dim, int16_t(0));
        }
    }
};

}  // namespace

void CodedRows::add(const int8_t* code, int64_t dim, CodedRow row, int64_t number) {
    codes.insert(codes.end(), code, code + dim);
    rows.push_back(row);
    numbers.push_back(number);
}

CodedRows coded(const float* rows, int64_t count, int64_t dim) {
    CodedRows made;
    std::vector<int8_t> code(static_cast<size_t>(dim));
    for (int64_t r = 0; r < count; ++r) {
        const CodedRow row = kernels().encode(rows + r * dim, dim, code.data());
        made.add(code.data(), dim, row, r);
    }
    return made;
}

void nearest_cells(const CodedRows& centroids, const float* rows, int64_t count, int64_t dim, int64_t probes,
                   int threads, int32_t* cells) {
    const int64_t some = centroids.size();
    run_tasks((count + TASK_ROWS - 1) / TASK_ROWS, threads, [&](int64_t task) {
        Queries queries(dim);
        std::vector<int8_t> codes(size_t(QUERIES * dim));
        std::vector<int32_t> dots(size_t(QUERIES * some)), order(static_cast<size_t>(some));
        std::vector<float> near(static_cast<size_t>(some));
        const int64_t last = std::min(count, (task + 1) * TASK_ROWS);
        for (int64_t first = task * TASK_ROWS; first < last; first += QUERIES) {
            const int64_t here = std::min(QUERIES, last - first);
            for (int64_t q = 0; q < here; ++q) kernels().encode(rows + (first + q) * dim, dim, codes.data() + q * dim);
            queries.fill(here, dim, [&](int64_t q) { return codes.data() + q * dim; });
            kernels().dots(queries.wide.data(), centroids.codes.data(), some, dim, dots.data());
            for (int64_t q = 0; q < here; ++q) {
                for (int64_t c = 0; c < some; ++c) {
                    near[size_t(c)] = float(dots[size_t(q * some + c)]) * centroids.rows[size_t(c)].scale;
                    order[size_t(c)] = int32_t(c);
                }
                const auto nearer = [&](int32_t a, int32_t b) {
                    return near[size_t(a)] != near[size_t(b)] ? near[size_t(a)] > near[size_t(b)] : a < b;
                };
                std::partial_sort(order.begin(), order.begin() + probes, order.end(), nearer);
                std::copy_n(order.begin(), probes, cells + (first + q) * probes);
            }
        }
    });
}

// Rows that are compared together.
struct Leaders::Block {
    int64_t first, count, dim, probes, homes;
    std::vector<int8_t> codes;
    std::vector<CodedRow> coded;
    std::vector<int32_t> cells;    // (count, probes): the first of them are homes
    std::vector<int64_t> leaders;  // (count,), -1 where none was found
    std::vector<float> cosines;

    Block(int64_t first, int64_t count, int64_t dim, int64_t probes, int64_t homes)
        : first(first),
          count(count),
          dim(dim),
          probes(probes),
          homes(homes),
          codes(size_t(count * dim)),
          coded(static_cast<size_t>(count)),
          cells(size_t(count * probes)),
          leaders(size_t(count), -1),
          cosines(size_t(count), 0.0f) {}

    const int8_t* code(int64_t row) const { return codes.data() + row * dim; }
    bool is_zero(int64_t row) const { return !(coded[size_t(row)].scale > 0); }
    void add_to(std::vector<CodedRows>& lists, int64_t row) const {
        for (int64_t h = 0; h < homes && !is_zero(row); ++h)
            lists[size_t(cells[size_t(row * probes + h)])].add(code(row), dim, coded[size_t(row)], first + row);
    }
    void take(int64_t row, int64_t leader, float cosine) {
        int64_t& best = leaders[size_t(row)];
        float& most = cosines[size_t(row)];
        if (best < 0 || cosine > most || (cosine == most && leader < best)) {
            best = leader;
            most = cosine;
        }
    }
};

// Which rows of a block are compared with the lists of which cells, sorted by cell.
struct Leaders::Visits {
    std::vector<int32_t> rows;
    std::vector<int64_t> starts;  // of each cell (cells + 1,)

    // Of the rows from `first` up to `last`; rows before `reference` and rows of zeros visit nobody.
    Visits(const Block& block, int64_t first, int64_t last, int64_t reference, int64_t cells)
        : starts(size_t(cells + 1)) {
        const auto visits = [&](int64_t r) { return block.first + r >= reference && !block.is_zero(r); };
        const auto cell = [&](int64_t r, int64_t p) { return size_t(block.cells[size_t(r * block.probes + p)]); };
        for (int64_t r = first; r < last; ++r)
            for (int64_t p = 0; p < block.probes && visits(r); ++p) ++starts[cell(r, p) + 1];
        for (size_t c = 0; c + 1 < starts.size(); ++c) starts[c + 1] += starts[c];
        std::vector<int64_t> next(starts.begin(), starts.end() - 1);
        rows.resize(size_t(starts.back()));
        for (int64_t r = first; r < last; ++r)
            for (int64_t p = 0; p < block.probes && visits(r); ++p) rows[size_t(next[cell(r, p)]++)] = int32_t(r);
    }
};

// A row of the block, and the number of one before it.
struct Leaders::Pair {
    int64_t later, earlier;
    float cosine;
};

namespace {

struct Task {
    int64_t cell, first, last;  // visits
};

std::vector<Task> tasks_of(const std::vector<int64_t>& starts, const std::vector<CodedRows>& lists) {
    std::vector<Task> tasks;
    for (size_t cell = 0; cell < lists.size(); ++cell)
        for (int64_t at = starts[cell]; at < starts[cell + 1] && lists[cell].size(); at += TASK_QUERIES)
            tasks.push_back({int64_t(cell), at, std::min(starts[cell + 1], at + TASK_QUERIES)});
    return tasks;
}

}  // namespace

Leaders::Leaders(const float* vectors, int64_t rows, int64_t dim, const float* centroids, int64_t cells, int64_t probes,
                 int64_t homes, float threshold, int64_t reference)
    : vectors_(vectors),
      rows_(rows),
      dim_(dim),
      probes_(probes),
      homes_(homes),
      threshold_(threshold - ROUNDING),
      reference_(reference),
      centroids_(coded(centroids, cells, dim)),
      kept_(static_cast<size_t>(cells)) {}

void Leaders::advance(int64_t stop, int threads, int64_t* leaders, float* cosines) {
    while (decided_ < stop) {
        const int64_t first = decided_, last = std::min(stop, first + BLOCK_ROWS);
        decide(first, last, threads, leaders, cosines);
        leaders += last - first;
        cosines += last - first;
        decided_ = last;
    }
}

void Leaders::decide(int64_t first, int64_t last, int threads, int64_t* leaders, float* cosines) {
    const int64_t count = last - first, cells = centroids_.size();
    Block block(first, count, dim_, probes_, homes_);
    const float* rows = vectors_ + first * dim_;
    nearest_cells(centroids_, rows, count, dim_, probes_, threads, block.cells.data());
    for (int64_t r = 0; r < count; ++r)
        block.coded[size_t(r)] = kernels().encode(rows + r * dim_, dim_, block.codes.data() + r * dim_);
    compare(block, Visits(block, 0, count, reference_, cells), kept_, threads);
    std::vector<CodedRows> fresh(kept_.size());  // kept rows of this block
    for (int64_t r = 0; r < count; r += SOME_ROWS) {
        const int64_t end = std::min(count, r + SOME_ROWS);
        const Visits visits(block, r, end, reference_, cells);
        compare(block, visits, fresh, threads);
        settle(block, r, end, compare_with_each_other(block, visits, r, end, threads), fresh);
    }
    std::copy(block.leaders.begin(), block.leaders.end(), leaders);
    std::copy(block.cosines.begin(), block.cosines.end(), cosines);
}

// Calls found(row of the block, number, cosine) for each of the rows and row of the list that reach the threshold.
template <class Found>
void Leaders::scan(const CodedRows& list, const Block& block, const int32_t* rows, int64_t count,
                   const Found& found) const {
    Queries queries(dim_);
    std::vector<int32_t> dots(size_t(QUERIES * TILE));
    float scale = 0, error = 0;
    for (const CodedRow& row : list.rows) {
        scale = std::max(scale, row.scale);
        error = std::max(error, row.error);
    }
    for (int64_t first = 0; first < count; first += QUERIES) {
        const int64_t here = std::min(QUERIES, count - first);
        queries.fill(here, dim_, [&](int64_t q) { return block.code(rows[first + q]); });
        for (int64_t tile = 0; tile < list.size(); tile += TILE) {
            const int64_t some = std::min(TILE, list.size() - tile);
            kernels().dots(queries.wide.data(), list.codes.data() + tile * dim_, some, dim_, dots.data());
            for (int64_t q = 0; q < here; ++q) {
                const int64_t row = rows[first + q];
                const CodedRow own = block.coded[size_t(row)];
                // a · b <= code · code + |code of a| · error of b + error of a · |b|
                const float needed = threshold_ - LENGTH_SLACK - own.error;
                const float least = (needed - (1 + own.error) * error) / (own.scale * scale) * 0.9999f;
                const int32_t bound = least > 0 ? int32_t(std::min(least, float(1 << 30))) : INT32_MIN;
                for (int64_t i = 0; i < some; ++i) {
                    const int32_t dot = dots[size_t(q * some + i)];
                    if (dot < bound) continue;
                    const CodedRow other = list.rows[size_t(tile + i)];
                    if (float(dot) * (own.scale * other.scale) + (1 + own.error) * other.error < needed) continue;
                    const int64_t number = list.numbers[size_t(tile + i)];
                    const float cosine =
                        kernels().exact(vectors_ + (block.first + row) * dim_, vectors_ + number * dim_, dim_);
                    if (cosine >= threshold_) found(row, number, std::min(cosine, 1.0f));
                }
            }
        }
    }
}

// The most similar row of the lists for each of the visiting rows.
void Leaders::compare(Block& block, const Visits& visits, const std::vector<CodedRows>& lists, int threads) const {
    const std::vector<Task> tasks = tasks_of(visits.starts, lists);
    // A row visits several cells, perhaps at the same time: each task notes what it found, and the notes are read in order.
    std::vector<std::vector<Pair>> notes(tasks.size());
    run_tasks(int64_t(tasks.size()), threads, [&](int64_t at) {
        const Task& task = tasks[size_t(at)];
        std::vector<Pair>& own = notes[size_t(at)];
        scan(lists[size_t(task.cell)], block, visits.rows.data() + task.first, task.last - task.first,
             [&](int64_t row, int64_t number, float cosine) {
                 if (own.empty() || own.back().later != row) own.push_back({row, number, cosine});
                 else if (cosine > own.back().cosine) own.back() = {row, number, cosine};
             });
    });
    for (const std::vector<Pair>& own : notes)
        for (const Pair& pair : own) block.take(pair.later, pair.earlier, pair.cosine);
}

// Pairs of a later row with an earlier one that repeats nothing yet, of the rows from `first` up to `last`, sorted.
std::vector<Leaders::Pair> Leaders::compare_with_each_other(const Block& block, const Visits& visits, int64_t first,
                                                            int64_t last, int threads) const {
    std::vector<CodedRows> lists(kept_.size());
    for (int64_t r = first; r < last; ++r)
        if (block.leaders[size_t(r)] < 0) block.add_to(lists, r);
    const std::vector<Task> tasks = tasks_of(visits.starts, lists);
    std::vector<std::vector<Pair>> notes(tasks.size());
    run_tasks(int64_t(tasks.size()), threads, [&](int64_t at) {
        const Task& task = tasks[size_t(at)];
        scan(lists[size_t(task.cell)], block, visits.rows.data() + task.first, task.last - task.first,
             [&](int64_t row, int64_t number, float cosine) {
                 if (number - block.first < row) notes[size_t(at)].push_back({row, number, cosine});
             });
    });
    std::vector<Pair> pairs;
    for (const std::vector<Pair>& own : notes) pairs.insert(pairs.end(), own.begin(), own.end());
    std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
        return a.later != b.later ? a.later < b.later : a.earlier < b.earlier;
    });
    return pairs;
}

// In the order of the rows: whether the earlier row of a pair is kept is known when its later row comes.
void Leaders::settle(Block& block, int64_t first, int64_t last, const std::vector<Pair>& pairs,
                     std::vector<CodedRows>& fresh) {
    std::vector<char> kept(size_t(last - first), 0);
    size_t at = 0;
    for (int64_t r = first; r < last; ++r) {
        for (; at < pairs.size() && pairs[at].later == r; ++at)
            if (kept[size_t(pairs[at].earlier - block.first - first)])
                block.take(r, pairs[at].earlier, pairs[at].cosine);
        if (block.leaders[size_t(r)] >= 0) continue;
        kept[size_t(r - first)] = 1;
        block.add_to(fresh, r);
        block.add_to(kept_, r);
    }
}

}  // namespace noppa
