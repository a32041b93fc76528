// Words of any bytes: each finds itself and nothing else does. Slots of any bytes: what passes the check that a saved
// table gets is safe to look up in, by any rules of a tokenizer.
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include <fuzzer/FuzzedDataProvider.h>

#include "kernel_constants.hpp"
#include "text/lookup.hpp"

using namespace noppa;

namespace {

const uint8_t* bytes_of(const std::string& word) { return reinterpret_cast<const uint8_t*>(word.data()); }

struct Words {
    std::unique_ptr<uint8_t[]> text;  // of exactly its size, so that a step too far is seen
    std::vector<int64_t> bounds{0};
    std::map<std::string, int32_t> rows;  // the oracle
    std::vector<std::string> all;

    void add(std::string word) {
        rows.emplace(word, int32_t(all.size()));
        bounds.push_back(bounds.back() + int64_t(word.size()));
        all.push_back(std::move(word));
    }
    void join() {
        text.reset(new uint8_t[size_t(bounds.back())]);
        for (size_t row = 0; row < all.size(); ++row)
            std::copy(all[row].begin(), all[row].end(), text.get() + bounds[row]);
    }
};

void look_up_in(const Index& index, int64_t words, FuzzedDataProvider& input) {
    const Splitting how{input.ConsumeIntegralInRange(0, 3), input.ConsumeIntegralInRange(0, 2),
                        input.ConsumeIntegralInRange(0, 2), 0};
    Vocabulary vocabulary{index, {}, false, input.ConsumeIntegralInRange(0, 2), DROPPED, how, Beginnings(index)};
    if (input.ConsumeBool()) {
        vocabulary.words.longest = longest_of(index.bounds, words);
        vocabulary.pieces = vocabulary.words;
    }
    const int width = input.ConsumeBool() ? 1 : 2;  // two bytes hold every script without spaces
    const std::string bytes = input.ConsumeRemainingBytesAsString();
    const int64_t length = int64_t(bytes.size()) / width;
    const std::unique_ptr<char[]> text(new char[size_t(length * width)]);
    std::copy(bytes.begin(), bytes.begin() + length * width, text.get());
    const Ids ids = look_up(vocabulary, {Text{text.get(), length, width}}, 1);
    for (const int32_t id : ids.ids)
        if (id < DROPPED || id >= words) std::abort();
}

void built(const Words& words, uint64_t seed, FuzzedDataProvider& input) {
    std::vector<int64_t> repeated;
    const int64_t count = int64_t(words.all.size());
    const auto slots = build_slots(words.text.get(), words.bounds.data(), count, seed, &repeated);
    if (slots.empty()) return;  // collisions on purpose: the caller takes another seed
    if (fault_of(slots.data(), slots.size(), count)) std::abort();
    if (words.rows.size() + repeated.size() != words.all.size()) std::abort();
    const Index index{words.text.get(), words.bounds.data(), count, slots.data(), slots.size() - 1, seed, 0, 0};
    for (const auto& [word, row] : words.rows)
        if (index.find(bytes_of(word), word.size()) != row) std::abort();
    const std::string other = input.ConsumeRandomLengthString(20);
    const auto known = words.rows.find(other);
    if (index.find(bytes_of(other), other.size()) != (known == words.rows.end() ? -1 : known->second)) std::abort();
    look_up_in(index, count, input);
}

void stored(const Words& words, uint64_t seed, FuzzedDataProvider& input) {
    std::vector<uint64_t> slots(size_t(1) << input.ConsumeIntegralInRange(0, 6));
    for (uint64_t& slot : slots)
        if (input.ConsumeBool()) {
            const uint64_t row = input.ConsumeIntegralInRange<uint64_t>(0, words.all.size() + 2);
            const std::string& word = words.all.empty() ? std::string() : words.all[row % words.all.size()];
            slot = (hash_of(bytes_of(word), word.size(), seed) & 0xffffffff00000000ull) | row;
        }
    if (input.ConsumeBool()) slots.pop_back();
    const int64_t count = int64_t(words.all.size());
    if (fault_of(slots.data(), slots.size(), count)) return;
    const Index index{words.text.get(), words.bounds.data(), count, slots.data(), slots.size() - 1, seed, 0, 0};
    for (const std::string& word : words.all) index.find(bytes_of(word), word.size());
    look_up_in(index, count, input);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    FuzzedDataProvider input(data, size);
    const bool from_slots = input.ConsumeBool();
    const uint64_t seed = input.ConsumeBool() ? input.ConsumeIntegral<uint64_t>() : 0;
    Words words;
    for (int count = input.ConsumeIntegralInRange(0, 40); count > 0; --count)
        words.add(input.ConsumeRandomLengthString(30));
    words.join();
    from_slots ? stored(words, seed, input) : built(words, seed, input);
    return 0;
}
