// Words held together by hyphens, apostrophes and other JOINTS: whole or in parts, as the vocabulary has them.
//
// 1. A word that the vocabulary has stays whole.
// 2. Else it is split at its joints, from left to right, each time at the last joint within JOINTS_LIMIT up to which the
//    vocabulary has it. A part takes the apostrophe after it (`l'`), or the hyphen or apostrophe before it (`-je`, `'s`), if
//    the vocabulary has it so; any other joint is left out.
// 3. A word of which the vocabulary has no part stays whole; under the rules `elision`, and without a vocabulary, it is
//    split after each apostrophe, until what is left is one of UNELIDED.
#include <algorithm>

#include "text/scanner.hpp"
#include "text/vocabulary.hpp"
#include "text_rules.hpp"

namespace noppa {

int64_t Scanner::joined(int64_t start, int64_t end) {
    const bool elides = how_.rules == RULE_SET_ELISION;
    if (elides && at(end) == '\'' && knows(start, end + 1)) {
        emit(start, end + 1);
        return end + 1;
    }
    joints_.clear();
    for (int64_t place = start; place < end; ++place)
        if (is_joint(text_[place])) joints_.push_back(place);
    if (joints_.empty() || knows(start, end)) {
        emit(start, end);
    } else if (!vocabulary_ || !emit_known_parts(start, end)) {
        int64_t begin = start;
        if (elides)
            for (const int64_t joint : joints_) {
                if (is_among(begin, end, UNELIDED)) break;
                if (text_[joint] != '\'') continue;
                emit(begin, joint + 1);
                begin = joint + 1;
            }
        emit(begin, end);
    }
    return end;
}

// The part from `start` to the joint at `end` as the vocabulary has it, empty where it has it not. `free`: from where it may
// take the hyphen or apostrophe before it.
Token Scanner::known_form(int64_t start, int64_t end, int64_t word_end, int64_t free) {
    if (end < word_end && text_[end] == '\'' && knows(start, end + 1)) return {text_ + start, end + 1 - start};
    const bool takes = free < start && (text_[free] == '-' || text_[free] == '\'');
    if (takes && knows(free, end)) return {text_ + free, end - free};
    return {text_ + start, knows(start, end) ? end - start : 0};
}

// Nothing is emitted, and false returned, where the vocabulary has no part of the word.
bool Scanner::emit_known_parts(int64_t start, int64_t end) {
    joints_.push_back(end);
    const size_t before = tokens_.size(), count = joints_.size();
    bool has_known = false;
    int64_t free = start;
    for (size_t first = 0; first < count;) {
        size_t last = std::min(first + size_t(JOINTS_LIMIT), count) - 1;
        Token part = known_form(start, joints_[last], end, free);
        while (!part.length && last > first) part = known_form(start, joints_[--last], end, free);
        has_known |= part.length > 0;
        if (!part.length) part = {text_ + start, joints_[first] - start};
        tokens_.push_back(part);
        start = joints_[last] + 1;
        free = part.begin + part.length - text_;
        first = last + 1;
    }
    joints_.pop_back();
    if (!has_known) tokens_.resize(before);
    return has_known;
}

}  // namespace noppa
