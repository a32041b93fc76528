// Runs of scripts without spaces to words: the best segmentation against a vocabulary.
//
// A run is letters and ideographs of SEGMENTED with nothing between them. Its words are the path of the least cost from its
// begin to its end: a word costs the logarithm of its rank, since word vectors are sorted by frequency, and an unknown
// character more than any word. Costs are integers, so that every machine finds the same path.
//
// 1. A word begins and ends where a character may: see NO_BREAK_BEFORE and NO_BREAK_AFTER.
// 2. A word has at most LONGEST_SEGMENT characters, so the time is linear in the length of the run.
// 3. Unknown letters in a row are one token; unknown ideographs are a token each.
#include <algorithm>

#include "text/scanner.hpp"
#include "text/vocabulary.hpp"
#include "text_rules.hpp"

namespace noppa {
namespace {

int64_t word_cost(int64_t row) {
    const uint64_t rank = uint64_t(row + RANK_OFFSET);
    int64_t bits = 0;
    while (rank >> (bits + 1)) ++bits;
    const int64_t scaled = int64_t(rank << 31 >> bits);
    int64_t step = 0;
    while (step < int64_t(sizeof LOG_STEPS / sizeof *LOG_STEPS) && LOG_STEPS[step] <= scaled) ++step;
    return 16 * bits + step + WORD_COST;
}

}  // namespace

void Scanner::segment(int64_t start, int64_t end) {
    const Code* run = text_ + start;
    const int64_t length = end - start;
    const int64_t unknown = word_cost(vocabulary_ ? vocabulary_->words.words : 0) + UNKNOWN_COST;
    utf8_.clear();
    bytes_.assign(1, 0);
    for (int64_t at = 0; at < length; ++at) {
        append_utf8(run[at], &utf8_);
        bytes_.push_back(utf8_.size());
    }
    const uint8_t* utf8 = reinterpret_cast<const uint8_t*>(utf8_.data());
    const auto may_break = [&](int64_t at) {
        return at == length ||
               !((breaks_of(run[at]) & BREAKS_NOT_BEFORE) || (breaks_of(run[at - 1]) & BREAKS_NOT_AFTER));
    };
    path_.assign(size_t(length) + 1, {-1, 0, true});
    path_[0].cost = 0;
    for (int64_t from = 0; from < length; ++from) {
        const int64_t cost = path_[size_t(from)].cost;
        if (cost < 0) continue;
        const auto step = [&](int64_t to, int64_t more, bool known) {
            Step& there = path_[size_t(to)];
            if (there.cost < 0 || cost + more < there.cost) there = {cost + more, from, known};
        };
        int64_t first = from + 1;
        while (!may_break(first)) ++first;
        const int64_t longest = vocabulary_ ? vocabulary_->longest_from(run + from, length - from) : 0;
        bool first_known = false;
        for (int64_t to = first; to <= from + longest; ++to) {
            if (!may_break(to)) continue;
            const size_t begin = bytes_[size_t(from)];
            const int32_t row = vocabulary_->words.find(utf8 + begin, bytes_[size_t(to)] - begin);
            if (row < 0) continue;
            step(to, word_cost(row), true);
            first_known |= to == first;
        }
        if (!first_known) step(first, unknown * (first - from), false);
    }
    emit_path(start, end);
}

// The words of the path, with unknown letters in a row as one.
void Scanner::emit_path(int64_t start, int64_t end) {
    const size_t before = tokens_.size();
    bool joins = false;
    for (int64_t at = end - start; at;) {
        const Step& step = path_[size_t(at)];
        const bool is_letters = !step.known && kind_of(text_[start + step.start]) != KIND_IDEOGRAPH;
        const Token word{text_ + start + step.start, at - step.start};
        if (joins && is_letters) tokens_.back() = {word.begin, word.length + tokens_.back().length};
        else tokens_.push_back(word);
        joins = is_letters;
        at = step.start;
    }
    std::reverse(tokens_.begin() + int64_t(before), tokens_.end());
}

}  // namespace noppa
