// Whole batches over the worker threads: what binding/ hands to Python.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels.hpp"
#include "pooling.hpp"
#include "vocabulary.hpp"

namespace noppa {

// The kernels in use, the sets this processor can run (fastest last), and a choice among them; false if it cannot.
const Kernels& kernels();
std::vector<const char*> instruction_sets();
bool use_instruction_set(const char* name);

// Flat ids (tokens,) and offsets (sentences + 1,).
struct Ids {
    std::vector<int32_t> ids;
    std::vector<int64_t> offsets;
};

Ids look_up(const Vocabulary& vocabulary, const std::vector<Text>& texts, int threads);
// Tokens as they are: `bounds` says which of `tokens` belong to which sentence.
Ids look_up_tokens(const Vocabulary& vocabulary, const std::vector<Text>& tokens, const std::vector<int64_t>& bounds);

struct Batch {
    const int32_t* ids;
    const int64_t* offsets;
    int64_t sentences;
};

// rows (sentences, width after the last step); known (sentences,) counts the tokens that took part. A sentence with none
// is a row of zeros, whatever the steps.
void pool_noppa(const Table& table, const Noppa& noppa, const Batch& batch, const std::vector<Step>& steps, int threads,
                float* rows, int32_t* known);

// The same for the other methods.
void pool_words(const Table& table, const Pooling& pooling, const Batch& batch, const std::vector<Step>& steps,
                int threads, float* rows, int32_t* known);

// The steps alone, on rows (count, width) already pooled; known as above, or null.
void apply_steps(const float* pooled, int64_t width, const int32_t* known, int64_t count, const std::vector<Step>& steps,
                 int threads, float* rows);

}  // namespace noppa
