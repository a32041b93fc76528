// Text to tokens, by the rules that noppa/text/tokenizer.py states. tests/oracle/scanner.py is the same in Python.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace noppa {

using Code = uint32_t;

// A Python string as it lies in memory: code points of 1, 2 or 4 bytes.
struct Text {
    const void* data;
    int64_t length;
    int width;
};

inline Code code_at(const Text& text, int64_t place) {
    if (text.width == 1) return static_cast<const uint8_t*>(text.data)[place];
    if (text.width == 2) return static_cast<const uint16_t*>(text.data)[place];
    return static_cast<const uint32_t*>(text.data)[place];
}

struct Token {
    const Code* begin;
    int64_t length;
};

// How a text is split. The numbers are those of text_rules.hpp.
struct Splitting {
    int rules, run, fold, form;
};
constexpr Splitting ENGLISH{0, 0, 0, 0};

class Vocabulary;

// One of KIND_SPACE, KIND_LETTER, … of text_rules.hpp.
int kind_of(Code code);
Code lower(Code code);
// The lower case of a language, FOLD_TURKISH or any other.
Code lower(Code code, int fold);
bool is_joint(Code code);
bool is_joiner(Code code);
// Bits of BREAKS_…: whether a character belongs to a script without spaces, and where no word of it begins or ends.
int breaks_of(Code code);
// Whether every Python we run on knows the character, so that NFC of it never changes.
bool is_stable(Code code);
// Appends the character without case and accents, up to three code points; a combining mark adds none.
void append_plain(Code code, std::vector<Code>* out);

class Scanner {
  public:
    // The tokens of a text in its normal form, split as a vocabulary has it, or as `how` says where there is none. They
    // point into this scanner and hold until the next call.
    const std::vector<Token>& tokens(const Text& text, const Splitting& how, const Vocabulary* vocabulary);
    // Frees buffers that a long text made large.
    void release_if_large();

  private:
    void clean(const Text& text);
    void clean_with_runs(const Text& text);
    void scan();
    void split_at_spaces();
    Code at(int64_t place) const { return place >= 0 && place < length_ ? text_[place] : ' '; }
    int kind(int64_t place) const;
    bool is_word(int64_t place) const;
    bool is_letter(int64_t place) const;
    bool is_digit(int64_t place) const;
    bool matches(int64_t place, const char* lower_text) const;
    template <int64_t SIZE>
    bool is_among(int64_t start, int64_t end, const char* const (&list)[SIZE]) const {
        for (const char* word : list)
            if (int64_t(std::strlen(word)) == end - start && matches(start, word)) return true;
        return false;
    }
    void emit(int64_t start, int64_t end) { tokens_.push_back({text_ + start, end - start}); }
    void emit(const Code* text, int64_t length) { tokens_.push_back({text, length}); }

    int64_t run(int64_t place);
    void segment(int64_t start, int64_t end);
    void emit_path(int64_t start, int64_t end);
    int64_t joined(int64_t start, int64_t end);
    bool emit_known_parts(int64_t start, int64_t end);
    Token known_form(int64_t start, int64_t end, int64_t word_end, int64_t free);
    bool knows(int64_t start, int64_t end);
    int64_t word(int64_t place);
    int64_t symbol(int64_t place);
    int64_t word_end(int64_t place) const;
    bool joins(int64_t place) const;
    int64_t url_end(int64_t place) const;
    int64_t email_end(int64_t place) const;
    int64_t domain_end(int64_t place) const;
    int64_t labels(int64_t place, int64_t* dots) const;
    int64_t path_end(int64_t place) const;
    int64_t chunk_end(int64_t place) const;
    int64_t trimmed(int64_t start, int64_t end) const;
    int64_t letters_end(int64_t place) const;
    int64_t clitic_end(int64_t place) const;
    void contractions(int64_t start, int64_t end);
    int64_t clitic_start(int64_t start, int64_t end) const;

    std::vector<Code> buffer_;
    std::vector<uint8_t> kinds_;
    std::vector<Token> tokens_;
    const Code* text_ = nullptr;
    int64_t length_ = 0;
    bool has_at_ = false;  // no e-mail address without one
    Splitting how_ = ENGLISH;
    const Vocabulary* vocabulary_ = nullptr;

    // Scratch of the lookups, of segmentation and of joints: a text's own, so that they are freed with the rest.
    std::string utf8_;
    struct Step {
        int64_t cost;
        int64_t start;
        bool known;
    };
    std::vector<Step> path_;
    std::vector<size_t> bytes_;
    std::vector<int64_t> joints_;
};

}  // namespace noppa
