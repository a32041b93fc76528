// Word vectors in files: lines of text to rows of float32 and back, and the records of word2vec's binary format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace noppa {

struct VectorRows {
    std::vector<uint8_t> text;                 // the words, one after the other
    std::vector<int64_t> bounds{0};            // (rows + 1,) where each word lies in text
    std::unique_ptr<float[]> matrix;           // (rows, dim)
    std::vector<int64_t> bad_starts;           // where each line (record) begins that is no word with a vector
    std::vector<int64_t> invalid_utf8;         // rows whose word is not UTF-8 …
    std::vector<int64_t> invalid_utf8_starts;  // … and where their line (record) begins
    int64_t consumed = 0;                      // line feeds of a block of text, bytes of a block of records
};

// Every line of a block as a word and `dim` numbers, taken from the right; blank lines are skipped. A number becomes
// the float32 nearest to its text. The block holds whole lines, the last one with or without its newline.
VectorRows parse_vectors(const char* block, size_t length, int64_t dim, int threads);

// As many whole records `word SPACE dim × float32` as the block and `most` allow, a newline before a word dropped.
VectorRows parse_records(const char* block, size_t length, int64_t dim, int64_t most);

// Each row as numbers with a separator between them, the shortest text that reads back as the same float32.
std::vector<std::string> format_rows(const float* matrix, int64_t rows, int64_t dim, const std::string& separator,
                                     int threads);

}  // namespace noppa
