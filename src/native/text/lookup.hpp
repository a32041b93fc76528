// Whole batches of texts to row numbers, over the worker threads.
#pragma once

#include <cstdint>
#include <vector>

#include "text/vocabulary.hpp"

namespace noppa {

// Flat ids (tokens,) and offsets (sentences + 1,).
struct Ids {
    std::vector<int32_t> ids;
    std::vector<int64_t> offsets;
    KnownWords seen;
};

Ids look_up(const Vocabulary& vocabulary, const std::vector<Text>& texts, int threads);
// Tokens as they are: sentence s has tokens[bounds[s]] up to tokens[bounds[s + 1]].
Ids look_up_tokens(const Vocabulary& vocabulary, const std::vector<Text>& tokens, const std::vector<int64_t>& bounds);

}  // namespace noppa
