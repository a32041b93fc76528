#include "text/lookup.hpp"

#include "workers.hpp"

namespace noppa {

Ids look_up(const Vocabulary& vocabulary, const std::vector<Text>& texts, int threads) {
    const auto cost = [&](int64_t at) { return 100.0 + 6.0 * double(texts[size_t(at)].length); };
    const auto cuts = cut_by_cost(int64_t(texts.size()), threads, INT64_MAX, cost);
    Ids result;
    result.offsets.resize(texts.size() + 1);
    std::vector<std::vector<int32_t>> parts(cuts.size() - 1);
    std::vector<KnownWords> seen(parts.size());
    run_tasks(int64_t(parts.size()), threads, [&](int64_t task) {
        thread_local Scanner scanner;
        thread_local Vocabulary::Scratch scratch;
        scratch.seen = {};
        std::vector<int32_t>& part = parts[size_t(task)];
        for (int64_t at = cuts[size_t(task)]; at < cuts[size_t(task) + 1]; ++at) {
            for (const Token& token : scanner.tokens(texts[size_t(at)], vocabulary.how, &vocabulary))
                vocabulary.look_up(token, &scratch, &part);
            result.offsets[size_t(at) + 1] = int64_t(part.size());
        }
        seen[size_t(task)] = scratch.seen;
        scanner.release_if_large();
    });
    size_t tokens = 0;
    for (const auto& part : parts) tokens += part.size();
    if (parts.size() > 1) result.ids.reserve(tokens);
    for (size_t task = 0; task < parts.size(); ++task) {
        result.seen.words += seen[task].words;
        result.seen.known += seen[task].known;
        const int64_t before = int64_t(result.ids.size());
        for (int64_t at = cuts[task]; at < cuts[task + 1]; ++at) result.offsets[size_t(at) + 1] += before;
        if (parts.size() == 1) result.ids = std::move(parts[0]);
        else result.ids.insert(result.ids.end(), parts[task].begin(), parts[task].end());
    }
    return result;
}

Ids look_up_tokens(const Vocabulary& vocabulary, const std::vector<Text>& tokens, const std::vector<int64_t>& bounds) {
    Ids result;
    result.offsets.push_back(0);
    result.ids.reserve(tokens.size());
    std::vector<Code> codes;
    Vocabulary::Scratch scratch;
    for (size_t sentence = 0; sentence + 1 < bounds.size(); ++sentence) {
        for (int64_t t = bounds[sentence]; t < bounds[sentence + 1]; ++t) {
            const Text& token = tokens[size_t(t)];
            codes.resize(size_t(token.length));
            for (int64_t at = 0; at < token.length; ++at) codes[size_t(at)] = code_at(token, at);
            vocabulary.look_up({codes.data(), token.length}, &scratch, &result.ids);
        }
        result.offsets.push_back(int64_t(result.ids.size()));
    }
    result.seen = scratch.seen;
    return result;
}

}  // namespace noppa
