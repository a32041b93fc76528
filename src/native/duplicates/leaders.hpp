// Near-duplicates in the order of the rows: a row whose cosine with an earlier kept row reaches a threshold repeats that row,
// and every other row is kept.
//
// Rows are compared within cells: each kept row lies in the `homes` cells whose centroids are nearest to it, and a row is
// compared with those in the `probes` cells nearest to it. One cell compares every row with every kept one.
#pragma once

#include <cstdint>
#include <vector>

#include "duplicates/codes.hpp"

namespace noppa {

// Rows of a cell, or centroids, in the order in which they came.
struct CodedRows {
    std::vector<int8_t> codes;
    std::vector<CodedRow> rows;
    std::vector<int64_t> numbers;

    void add(const int8_t* code, int64_t dim, CodedRow row, int64_t number);
    int64_t size() const { return int64_t(rows.size()); }
};

// The cells nearest to each row (rows, probes), the nearest first, of equal ones the first. The centroids are coded rows.
void nearest_cells(const CodedRows& centroids, const float* rows, int64_t count, int64_t dim, int64_t probes,
                   int threads, int32_t* cells);
CodedRows coded(const float* rows, int64_t count, int64_t dim);

class Leaders {
  public:
    // vectors (rows, dim), of length 1 or 0, are borrowed. The first `reference` rows are kept without being compared. There
    // are no more homes than probes.
    Leaders(const float* vectors, int64_t rows, int64_t dim, const float* centroids, int64_t cells, int64_t probes,
            int64_t homes, float threshold, int64_t reference);

    // Decides the next rows, up to `stop`: for each, the most similar kept row that it repeats, of equal ones the first, or
    // -1, and their cosine. What is decided does not depend on how rows are divided over calls, nor on the threads.
    void advance(int64_t stop, int threads, int64_t* leaders, float* cosines);
    int64_t decided() const { return decided_; }
    int64_t rows() const { return rows_; }

  private:
    struct Block;
    struct Visits;
    struct Pair;
    void decide(int64_t first, int64_t last, int threads, int64_t* leaders, float* cosines);
    void compare(Block& block, const Visits& visits, const std::vector<CodedRows>& lists, int threads) const;
    std::vector<Pair> compare_with_each_other(const Block& block, const Visits& visits, int64_t first, int64_t last,
                                              int threads) const;
    void settle(Block& block, int64_t first, int64_t last, const std::vector<Pair>& pairs,
                std::vector<CodedRows>& fresh);
    template <class Found>
    void scan(const CodedRows& list, const Block& block, const int32_t* rows, int64_t count, const Found& found) const;

    const float* vectors_;
    int64_t rows_, dim_, probes_, homes_;
    float threshold_;
    int64_t reference_, decided_ = 0;
    CodedRows centroids_;
    std::vector<CodedRows> kept_;  // a list a cell
};

}  // namespace noppa
