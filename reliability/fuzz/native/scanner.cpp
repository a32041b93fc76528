// Any code points that a Python string can hold, of any width, lone surrogates too: by any rules tokens stand in the cleaned text in order, cover
// what is not white space, and nothing is read outside it. That they are the right ones is for reliability/fuzz/scanner.py.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "text/scanner.hpp"
#include "text_rules.hpp"

using namespace noppa;

namespace {

void check(const std::vector<Token>& tokens, int64_t length, const Splitting& how) {
    int64_t total = 0;
    for (const Token& token : tokens) {
        if (token.length < 1) std::abort();
        for (int64_t at = 0; at < token.length; ++at) {
            const int kind = kind_of(token.begin[at]);
            const bool keeps = how.rules == RULE_SET_WHITESPACE || (how.rules && is_joiner(token.begin[at]));
            if (kind == KIND_SPACE || (kind == KIND_DROP && !keeps)) std::abort();
        }
        total += token.length;
    }
    // A code point becomes at most a few, and dots and dashes in a row become fewer.
    if (total > 3 * length + 3 * int64_t(tokens.size())) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (!size) return 0;
    const int width = 1 << (data[0] % 3);
    const Splitting how{data[0] / 3 % 4, data[0] / 12 % 3, data[0] / 36 % 3, 0};
    const int64_t length = int64_t(size - 1) / width;
    // Memory of exactly this size: AddressSanitizer sees one step too far.
    std::unique_ptr<char[]> bytes(new char[size_t(length) * size_t(width)]);
    std::memcpy(bytes.get(), data + 1, size_t(length) * size_t(width));
    if (width == 4)
        for (int64_t at = 0; at < length; ++at) {
            Code& code = reinterpret_cast<Code*>(bytes.get())[at];
            code %= 0x110000;
        }
    static Scanner reused;
    Scanner fresh;
    const Text text{bytes.get(), length, width};
    const std::vector<Token>& first = fresh.tokens(text, how, nullptr);
    const std::vector<Token>& again = reused.tokens(text, how, nullptr);
    check(first, length, how);
    if (first.size() != again.size()) std::abort();
    for (size_t at = 0; at < first.size(); ++at)
        if (first[at].length != again[at].length ||
            !std::equal(first[at].begin, first[at].begin + first[at].length, again[at].begin))
            std::abort();
    return 0;
}
