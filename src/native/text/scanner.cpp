#include "text/scanner.hpp"

#include <cstring>

#include "character_tables.hpp"
#include "text/vocabulary.hpp"
#include "text_rules.hpp"
#include "thread_memory.hpp"

namespace noppa {
namespace {

const Code ELLIPSIS[] = {'.', '.', '.'};
const Code DASH[] = {'-', '-'};
const Code QUOTE[] = {'"'};

Code replaced(Code code) {
    return Code(int64_t(code) + REPLACED_PAGES[REPLACED_INDEX[code >> 8] * 256 + (code & 255)]);
}

bool is_in(Code code, const char* set) { return code && code < 128 && std::strchr(set, int(code)); }

}  // namespace

int kind_of(Code code) { return KIND_PAGES[KIND_INDEX[code >> 8] * 256 + (code & 255)]; }

bool is_stable(Code code) { return STABLE_PAGES[STABLE_INDEX[code >> 8] * 256 + (code & 255)]; }

void append_plain(Code code, std::vector<Code>* out) {
    if (code >= SYLLABLES[0] && code <= SYLLABLES[1]) {  // lead, vowel, and a tail or none
        const Code syllable = code - Code(SYLLABLES[0]);
        out->push_back(0x1100 + syllable / 588);
        out->push_back(0x1161 + syllable % 588 / 28);
        if (syllable % 28) out->push_back(0x11a7 + syllable % 28);
        return;
    }
    const int32_t delta = PLAIN_PAGES[PLAIN_INDEX[code >> 8] * 256 + (code & 255)];
    if (delta != PLAIN_NOTHING) out->push_back(Code(int64_t(code) + delta));
}

Code lower(Code code) {
    if (code < 128) return code >= 'A' && code <= 'Z' ? code + 32 : code;
    return Code(int64_t(code) + LOWER_PAGES[LOWER_INDEX[code >> 8] * 256 + (code & 255)]);
}

Code lower(Code code, int fold) {
    if (fold == FOLD_TURKISH)
        for (const int64_t* pair : TURKISH_LOWER)
            if (code == Code(pair[0])) return Code(pair[1]);
    return lower(code);
}

int breaks_of(Code code) { return BREAKS_PAGES[BREAKS_INDEX[code >> 8] * 256 + (code & 255)]; }

bool is_joiner(Code code) {
    for (const char32_t* each = JOINERS; *each; ++each)
        if (code == Code(*each)) return true;
    return false;
}

bool is_joint(Code code) {
    for (const char32_t* each = JOINTS; *each; ++each)
        if (code == Code(*each)) return true;
    return false;
}

void Scanner::clean(const Text& text) {
    buffer_.resize(size_t(text.length));
    kinds_.resize(size_t(text.length));
    Code* out = buffer_.data();
    uint8_t* kinds = kinds_.data();
    int64_t length = 0;
    has_at_ = false;
    for (int64_t place = 0; place < text.length; ++place) {
        Code code = code_at(text, place);
        if (code >= 128) code = replaced(code);
        const int kind = kind_of(code);
        out[length] = code;
        kinds[length] = uint8_t(kind);
        length += kind != KIND_DROP;
        has_at_ |= code == '@';
    }
    text_ = out;
    length_ = length;
}

// As `clean` for rules other than the English ones: joiners stay between letters and count as letters, letters of a run that is
// segmented count as ideographs; white space alone matters to RULE_SET_WHITESPACE, which leaves characters as they are.
void Scanner::clean_with_runs(const Text& text) {
    const bool whole = how_.rules == RULE_SET_WHITESPACE, joiners = how_.rules != RULE_SET_ENGLISH;
    const auto code_of = [&](int64_t place) {
        const Code code = code_at(text, place);
        if (whole) return code >= SURROGATES[0] && code <= SURROGATES[1] ? Code(REPLACEMENT[0]) : code;
        return code < 128 ? code : replaced(code);
    };
    const auto is_letter_at = [&](int64_t place) {
        return place >= 0 && place < text.length && kind_of(code_of(place)) == KIND_LETTER;
    };
    buffer_.resize(size_t(text.length));
    kinds_.resize(size_t(text.length));
    int64_t length = 0;
    has_at_ = false;
    for (int64_t place = 0; place < text.length; ++place) {
        const Code code = code_of(place);
        int kind = kind_of(code);
        if (!whole && kind == KIND_DROP) {
            if (!joiners || !is_joiner(code) || !is_letter_at(place - 1) || !is_letter_at(place + 1)) continue;
            kind = KIND_LETTER;
        }
        if (how_.run && breaks_of(code) & BREAKS_SEGMENTED) kind = KIND_IDEOGRAPH;
        buffer_[size_t(length)] = code;
        kinds_[size_t(length++)] = uint8_t(kind);
        has_at_ |= code == '@';
    }
    text_ = buffer_.data();
    length_ = length;
}

int Scanner::kind(int64_t place) const {
    return place >= 0 && place < length_ ? int(kinds_[size_t(place)]) : int(KIND_SPACE);
}
bool Scanner::is_word(int64_t place) const {
    const int here = kind(place);
    return here == KIND_LETTER || here == KIND_DIGIT;
}
bool Scanner::is_letter(int64_t place) const { return kind(place) == KIND_LETTER; }
bool Scanner::is_digit(int64_t place) const { return kind(place) == KIND_DIGIT; }

bool Scanner::matches(int64_t place, const char* lower_text) const {
    for (; *lower_text; ++lower_text, ++place)
        if (place >= length_ || lower(text_[place]) != Code(*lower_text)) return false;
    return true;
}

const std::vector<Token>& Scanner::tokens(const Text& text, const Splitting& how, const Vocabulary* vocabulary) {
    how_ = how;
    vocabulary_ = vocabulary;
    if (how.rules == RULE_SET_ENGLISH && how.run == RUN_NONE) clean(text);
    else clean_with_runs(text);
    tokens_.clear();
    if (how.rules == RULE_SET_WHITESPACE) split_at_spaces();
    else scan();
    return tokens_;
}

void Scanner::split_at_spaces() {
    for (int64_t place = 0; place < length_; ++place) {
        const int64_t start = place;
        while (kind(place) != KIND_SPACE) ++place;
        if (place > start) emit(start, place);
    }
}

void Scanner::scan() {
    int64_t place = 0;
    while (place < length_) {
        const int here = kind(place);
        if (here == KIND_SPACE) {
            ++place;
        } else if (here == KIND_IDEOGRAPH) {
            place = run(place);
        } else if (here == KIND_LETTER || here == KIND_DIGIT) {
            place = word(place);
        } else {
            place = symbol(place);
        }
    }
}

void Scanner::release_if_large() {
    noppa::release_if_large(&buffer_);
    noppa::release_if_large(&kinds_);
    noppa::release_if_large(&tokens_);
    noppa::release_if_large(&path_);
    noppa::release_if_large(&bytes_);
    noppa::release_if_large(&joints_);
    if (utf8_.capacity() > 1 << 20) std::string().swap(utf8_);
}

int64_t Scanner::run(int64_t place) {
    int64_t end = place + 1;
    while (how_.run && kind(end) == KIND_IDEOGRAPH) ++end;
    if (how_.run == RUN_VOCABULARY) segment(place, end);
    else emit(place, end);
    return end;
}

bool Scanner::knows(int64_t start, int64_t end) {
    return vocabulary_ && vocabulary_->find({text_ + start, end - start}, &utf8_) >= 0;
}

int64_t Scanner::word(int64_t place) {
    // Most words are letters between spaces, which none of the rules below would split or extend.
    int64_t letters = place;
    while (letters < length_ && kinds_[size_t(letters)] == KIND_LETTER) ++letters;
    if (kind(letters) == KIND_SPACE) {
        if (how_.rules != RULE_SET_ENGLISH) return joined(place, letters);
        emit(place, letters);
        return letters;
    }
    int64_t end = url_end(place);
    if (!end) end = email_end(place);
    if (!end) end = letters_end(place);
    if (end) {
        emit(place, end);
        return end;
    }
    end = word_end(place);
    if (at(end) == '.') {
        const int64_t domain = domain_end(place);
        if (domain) {
            end = path_end(domain);
            emit(place, end);
            return end;
        }
        if (how_.rules == RULE_SET_ENGLISH && is_among(place, end, ABBREVIATIONS)) {
            emit(place, end + 1);
            return end + 1;
        }
    }
    if (how_.rules != RULE_SET_ENGLISH) return joined(place, end);
    contractions(place, end);
    return end;
}

int64_t Scanner::symbol(int64_t place) {
    const Code code = text_[place];
    if (code == '\'' && how_.rules == RULE_SET_ENGLISH) {
        const int64_t end = clitic_end(place);
        if (end) {
            emit(place, end);
            return end;
        }
    }
    if (code == '.' && is_digit(place + 1)) {
        const int64_t end = word_end(place + 1);
        emit(place, end);
        return end;
    }
    int64_t run = place + 1;
    if (code == '.' || code == '-') {
        while (at(run) == code) ++run;
        if (run == place + 1) emit(place, run);
        else if (code == '.') emit(ELLIPSIS, 3);
        else emit(DASH, 2);
        return run;
    }
    if ((code == '\'' || code == '`') && at(run) == code) {
        emit(QUOTE, 1);
        return run + 1;
    }
    emit(place, run);
    return run;
}

int64_t Scanner::word_end(int64_t place) const {
    int64_t end = place;
    while (is_word(end) || (end > place && joins(end))) ++end;
    return end;
}

bool Scanner::joins(int64_t place) const {
    switch (at(place)) {
        case '-': return is_word(place - 1) && is_word(place + 1);
        case '\'': return is_word(place - 1) && is_letter(place + 1);
        case '&': return is_letter(place - 1) && is_letter(place + 1);
        case '.':
        case ',':
        case ':':
        case '/': return is_digit(place - 1) && is_digit(place + 1);
    }
    if (how_.rules == RULE_SET_ENGLISH || !is_joint(at(place))) return false;
    return is_letter(place - 1) && is_letter(place + 1);
}

int64_t Scanner::url_end(int64_t place) const {
    const Code first = lower(text_[place]);
    for (const char* scheme : SCHEMES) {
        if (first != Code(scheme[0])) continue;
        const int64_t start = place + int64_t(std::strlen(scheme));
        if (matches(place, scheme) && is_word(start)) return trimmed(start + 1, chunk_end(start));
    }
    return 0;
}

int64_t Scanner::email_end(int64_t place) const {
    if (!has_at_) return 0;
    int64_t middle = place;
    while (middle - place < LOCAL_LIMIT && (is_word(middle) || is_in(at(middle), ".+-"))) ++middle;
    if (at(middle) != '@') return 0;
    int64_t dots;
    const int64_t end = labels(middle + 1, &dots);
    return dots ? end : 0;
}

int64_t Scanner::domain_end(int64_t place) const {
    int64_t dots;
    const int64_t end = labels(place, &dots);
    if (!dots) return 0;
    int64_t start = end;
    while (text_[start - 1] != '.') --start;
    return is_among(start, end, DOMAINS) ? end : 0;
}

int64_t Scanner::labels(int64_t place, int64_t* dots) const {
    int64_t end = place;
    *dots = 0;
    while (end - place < DOMAIN_LIMIT) {
        if (is_word(end)) {
            ++end;
        } else if (end > place && is_in(at(end), ".-") && is_word(end - 1) && is_word(end + 1)) {
            *dots += at(end) == '.';
            ++end;
        } else {
            break;
        }
    }
    if (is_word(end)) *dots = 0;
    return end;
}

int64_t Scanner::path_end(int64_t place) const { return at(place) == '/' ? trimmed(place, chunk_end(place)) : place; }

int64_t Scanner::chunk_end(int64_t place) const {
    while (place < length_ && kind(place) != KIND_SPACE && !(how_.run && kind(place) == KIND_IDEOGRAPH)) ++place;
    return place;
}

int64_t Scanner::trimmed(int64_t start, int64_t end) const {
    while (end > start && is_in(text_[end - 1], TRAILING)) --end;
    return end;
}

int64_t Scanner::letters_end(int64_t place) const {
    int64_t end = place, letters = 0;
    while (letters < LETTERS_LIMIT && is_letter(end) && at(end + 1) == '.') {
        end += 2;
        ++letters;
    }
    if (letters && is_letter(end) && !is_word(end + 1)) {
        ++end;
        ++letters;
    }
    return letters > 1 && !is_word(end) ? end : 0;
}

int64_t Scanner::clitic_end(int64_t place) const {
    for (const char* clitic : CLITICS) {
        const int64_t end = place + 1 + int64_t(std::strlen(clitic));
        if (matches(place + 1, clitic) && !is_word(end)) return end;
    }
    return 0;
}

void Scanner::contractions(int64_t start, int64_t end) {
    int64_t cuts[CLITICS_LIMIT + 3];
    int count = 0;
    cuts[count++] = end;
    while (count <= CLITICS_LIMIT) {
        const int64_t cut = clitic_start(start, cuts[count - 1]);
        if (cut < 0) break;
        cuts[count++] = cut;
    }
    if (cuts[count - 1] != start) cuts[count++] = start;
    for (; count > 1; --count) emit(cuts[count - 1], cuts[count - 2]);
}

int64_t Scanner::clitic_start(int64_t start, int64_t end) const {
    constexpr int64_t negation = int64_t(std::char_traits<char>::length(NEGATION));
    if (end - start >= negation && matches(end - negation, NEGATION)) return end - negation;
    for (const char* clitic : CLITICS) {
        const int64_t place = end - int64_t(std::strlen(clitic)) - 1;
        if (place > start && text_[place] == '\'' && matches(place + 1, clitic)) return place;
    }
    return -1;
}

}  // namespace noppa
