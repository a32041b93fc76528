// Search over stored rows: the nearest by dot product, and the texts that hold a term. Their plain form is tests/oracle.
#pragma once

#include <cstdint>
#include <vector>

#include "pooling/table.hpp"

namespace noppa {

struct Searched {
    const Table& table;
    const int32_t* rows;     // (count,): which rows are compared, each once; null for all
    const uint8_t* allowed;  // (words,): 0 for a row that is passed over; null for none
    const float* bonus;      // (queries, words): added to the dot products; null for nothing
    const float* queries;    // (queries, dim)
    int64_t count, query_count;
};

struct Scored {
    float score;
    int64_t row;
};

// For each query up to `most` rows with the largest scores, largest first, of equal ones the smaller row: all of as many.
std::vector<std::vector<Scored>> nearest_rows(const Searched& searched, int64_t most, int threads);

// Rows as 8-bit codes in an order of their own, in which the rows of a cell lie one after the other.
struct CodedCells {
    const int8_t* codes;     // (places, dim)
    const float* scales;     // (places,): what a code is multiplied by
    const int32_t* rows;     // (places,): the row at each place
    const uint8_t* allowed;  // 0 for a row that is passed over; null for none
    const int64_t* starts;   // (cells,): the first place of each cell that is searched, and
    const int64_t* stops;    // (cells,): the one behind its last
    int64_t cells, dim;
};

// Up to `most` rows of the cells whose codes have the largest dot products with that of the query (dim,), as above.
std::vector<Scored> nearest_codes(const CodedCells& searched, const float* query, int64_t most, int threads);

// Adds weight · c / (c + flat + sloped · length) to the scores of the rows (count,) that hold a term c times. With several threads
// no row may be there twice.
void add_term(float* scores, const int32_t* rows, const uint16_t* counts, int64_t count, const uint32_t* lengths,
              float weight, float flat, float sloped, int threads);

}  // namespace noppa
