#include "text/vocabulary.hpp"

#include <algorithm>
#include <cstring>

#include "kernel_constants.hpp"
#include "text_rules.hpp"

namespace noppa {
namespace {

constexpr uint64_t PRIME = 0x9e3779b97f4a7c15ull;
constexpr size_t MARK_BYTES = std::char_traits<char>::length(PIECE_MARK);

uint64_t mixed(uint64_t h) {
    h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93ull;
    return h ^ (h >> 32);
}

uint64_t turned(uint64_t value, int bits) { return (value << bits) | (value >> (64 - bits)); }

struct SipHash {
    uint64_t a, b, c, d;

    void round() {
        a += b, b = turned(b, 13) ^ a, a = turned(a, 32);
        c += d, d = turned(d, 16) ^ c;
        a += d, d = turned(d, 21) ^ a;
        c += b, b = turned(b, 17) ^ c, c = turned(c, 32);
    }
    void add(uint64_t eight) {
        d ^= eight;
        round();
        a ^= eight;
    }
    uint64_t finish() {
        c ^= 0xff;
        for (int rounds = 0; rounds < 3; ++rounds) round();
        return a ^ b ^ c ^ d;
    }
};

uint64_t eight_at(const uint8_t* bytes) {
    uint64_t eight;
    std::memcpy(&eight, bytes, 8);
    return eight;
}

uint64_t fewer_at(const uint8_t* bytes, size_t count) {
    uint64_t rest = 0;
    for (size_t at = 0; at < count; ++at) rest |= uint64_t(bytes[at]) << (8 * at);
    return rest;
}

uint64_t keyed_hash(const uint8_t* bytes, size_t length, uint64_t seed) {
    const uint64_t key = mixed(seed * PRIME);
    SipHash sip{seed ^ 0x736f6d6570736575ull, key ^ 0x646f72616e646f6dull, seed ^ 0x6c7967656e657261ull,
                key ^ 0x7465646279746573ull};
    const uint64_t last = uint64_t(length) << 56;
    for (; length >= 8; bytes += 8, length -= 8) sip.add(eight_at(bytes));
    sip.add(last | fewer_at(bytes, length));
    return sip.finish();
}

uint64_t slot_of(uint64_t hash, int64_t id) { return (hash & 0xffffffff00000000ull) | uint64_t(id + 1); }

}  // namespace

void append_utf8(Code code, std::string* out) {
    if (code >= SURROGATES[0] && code <= SURROGATES[1]) code = REPLACEMENT[0];
    if (code < 0x80) {
        out->push_back(char(code));
    } else if (code < 0x800) {
        out->push_back(char(0xc0 | (code >> 6)));
        out->push_back(char(0x80 | (code & 63)));
    } else if (code < 0x10000) {
        out->push_back(char(0xe0 | (code >> 12)));
        out->push_back(char(0x80 | ((code >> 6) & 63)));
        out->push_back(char(0x80 | (code & 63)));
    } else {
        out->push_back(char(0xf0 | (code >> 18)));
        out->push_back(char(0x80 | ((code >> 12) & 63)));
        out->push_back(char(0x80 | ((code >> 6) & 63)));
        out->push_back(char(0x80 | (code & 63)));
    }
}

uint64_t hash_of(const uint8_t* bytes, size_t length, uint64_t seed) {
    if (seed) return keyed_hash(bytes, length, seed);
    uint64_t h = length * PRIME;
    for (; length >= 8; bytes += 8, length -= 8) h = mixed((h ^ eight_at(bytes)) * PRIME);
    return mixed((h ^ fewer_at(bytes, length)) * PRIME);
}

size_t longest_of(const int64_t* bounds, int64_t words) {
    int64_t longest = 0;
    for (int64_t id = 0; id < words; ++id) longest = std::max(longest, bounds[id + 1] - bounds[id]);
    return size_t(longest);
}

std::vector<uint64_t> build_slots(const uint8_t* text, const int64_t* bounds, int64_t words, uint64_t seed,
                                  std::vector<int64_t>* repeated) {
    uint64_t size = 16;
    while (size < uint64_t(words) * 2) size *= 2;
    std::vector<uint64_t> slots(size, 0);
    const Index so_far{text, bounds, words, slots.data(), size - 1, seed, 0, 0};
    for (int64_t id = 0; id < words; ++id) {
        const uint8_t* bytes = text + bounds[id];
        const size_t length = size_t(bounds[id + 1] - bounds[id]);
        const uint64_t hash = hash_of(bytes, length, seed);
        uint64_t at = hash & (size - 1);
        for (int64_t run = 0; slots[at] && !so_far.holds(slots[at], hash, bytes, length); at = (at + 1) & (size - 1))
            if (++run > LONGEST_RUN) return {};
        if (slots[at]) repeated->push_back(id);
        else slots[at] = slot_of(hash, id);
    }
    if (fault_of(slots.data(), size, words)) return {};
    return slots;
}

const char* fault_of(const uint64_t* slots, uint64_t size, int64_t words) {
    if (size <= uint64_t(words) || (size & (size - 1))) return "their number does not fit the words";
    int64_t run = 0, longest = 0;
    bool out_of_range = false;
    // The first run may go on from the last one.
    for (uint64_t at = 0; at < size + uint64_t(LONGEST_RUN); ++at) {
        const uint64_t slot = slots[at & (size - 1)], row = (slot & 0xffffffffu) - 1;
        out_of_range |= slot && row >= uint64_t(words);
        run = slot ? run + 1 : 0;
        longest = std::max(longest, run);
    }
    if (out_of_range) return "one names a row that is not there";
    if (longest > LONGEST_RUN) return "too many filled ones in a row";
    return nullptr;
}

int32_t Index::find(const uint8_t* bytes, size_t length) const {
    const uint64_t hash = hash_of(bytes, length, seed);
    for (uint64_t at = hash & mask; slots[at]; at = (at + 1) & mask)
        if (holds(slots[at], hash, bytes, length)) return int32_t(first + int64_t(slots[at] & 0xffffffffu) - 1);
    return -1;
}

namespace {

// The code point that begins at a byte of a stored word, and how many bytes it has; damaged text gives U+FFFD and one.
Code decoded(const uint8_t* bytes, size_t length, size_t* size) {
    *size = 1;
    const uint8_t first = bytes[0];
    const size_t more = first < 0x80 ? 0 : first >> 5 == 6 ? 1 : first >> 4 == 14 ? 2 : first >> 3 == 30 ? 3 : 4;
    if (more > 3 || more >= length) return more ? Code(REPLACEMENT[0]) : first;
    Code code = more ? first & (0x3fu >> more) : first;
    for (size_t at = 1; at <= more; ++at) {
        if (bytes[at] >> 6 != 2) return Code(REPLACEMENT[0]);
        code = code << 6 | (bytes[at] & 63);
    }
    *size = more + 1;
    return code < 0x110000 ? code : Code(REPLACEMENT[0]);
}

}  // namespace

Beginnings::Beginnings(const Index& words) {
    const auto each = [&](auto&& visit) {
        for (int64_t id = 0; id < words.words; ++id) {
            const uint8_t* bytes = words.text + words.bounds[id];
            const size_t length = size_t(words.bounds[id + 1] - words.bounds[id]);
            size_t place = 0, size;
            Code first_two[2];
            uint64_t characters = 0;
            while (place < length && characters <= uint64_t(LONGEST_SEGMENT)) {
                const Code code = decoded(bytes + place, length - place, &size);
                if (!(breaks_of(code) & BREAKS_SEGMENTED)) break;
                if (characters < 2) first_two[characters] = code;
                ++characters;
                place += size;
            }
            if (place == length && characters >= 2 && characters <= uint64_t(LONGEST_SEGMENT))
                visit(uint64_t(first_two[0]) << 21 | first_two[1], characters);
        }
    };
    uint64_t count = 0, size = 16;
    each([&](uint64_t, uint64_t) { ++count; });
    while (size < count * 2) size *= 2;
    slots_.assign(size, 0);
    each([&](uint64_t key, uint64_t characters) {
        const int64_t at = slot_of(key);
        if (at >= 0) slots_[size_t(at)] = key << 8 | std::max(slots_[size_t(at)] & 255, characters);
    });
}

// The slot of a pair of characters, or the empty one where it belongs; -1 in a crowd of LONGEST_RUN that somebody chose.
int64_t Beginnings::slot_of(uint64_t key) const {
    const uint64_t mask = slots_.size() - 1;
    uint64_t at = mixed(key * PRIME) & mask;
    for (int64_t run = 0; run < LONGEST_RUN; ++run, at = (at + 1) & mask)
        if (!slots_[at] || slots_[at] >> 8 == key) return int64_t(at);
    return -1;
}

int64_t Beginnings::longest(const Code* run, int64_t length) const {
    if (length < 2 || slots_.empty()) return std::min<int64_t>(length, 1);
    const int64_t at = slot_of(uint64_t(run[0]) << 21 | run[1]);
    const int64_t found = at < 0 ? LONGEST_SEGMENT : std::max<int64_t>(1, int64_t(slots_[size_t(at)] & 255));
    return std::min(length, found);
}

void KnownWords::count(const Token& token, bool is_known) {
    const Code first = token.length ? token.begin[0] : ' ';
    const auto is_letter = [](Code code) {
        return (kind_of(code) == KIND_LETTER || kind_of(code) == KIND_IDEOGRAPH) && code != '_';
    };
    if ((token.length < MIN_COUNTED_LETTERS && first < 128) || !is_letter(first)) return;
    if (!is_known)
        for (int64_t at = 1; at < token.length; ++at)
            if (!is_letter(token.begin[at]) || lower(token.begin[at]) != token.begin[at]) return;
    ++words;
    known += is_known;
}

void Vocabulary::look_up(const Token& token, Scratch* scratch, std::vector<int32_t>* ids) const {
    const int32_t id = find(token, &scratch->utf8);
    scratch->seen.count(token, id >= 0);
    if (id >= 0) ids->push_back(id);
    else if (composed) ids->push_back(find_composed(token, &scratch->utf8));
    else if (!pieces.words || !look_up_parts(token, scratch, ids)) ids->push_back(unknown);
}

int32_t Vocabulary::find_composed(const Token& token, std::string* utf8) const {
    utf8->clear();
    for (int64_t at = 0; at < token.length; ++at) append_utf8(token.begin[at], utf8);
    const int32_t id = pieces.find(reinterpret_cast<const uint8_t*>(utf8->data()), utf8->size());
    return id < 0 ? unknown : id;
}

int32_t Vocabulary::find(const Token& token, std::string* scratch) const {
    std::string& utf8 = *scratch;
    bool plain = how.fold != FOLD_TURKISH, changes = false;
    for (int64_t at = 0; at < token.length; ++at) {
        plain &= token.begin[at] < 128;
        changes |= lower(token.begin[at], how.fold) != token.begin[at];
    }
    const auto find_as = [&](bool small) {
        utf8.clear();
        if (plain) {
            utf8.resize(size_t(token.length));
            char* out = utf8.data();
            for (int64_t at = 0; at < token.length; ++at)
                out[at] = char(small ? lower(token.begin[at]) : token.begin[at]);
        } else {
            for (int64_t at = 0; at < token.length; ++at)
                append_utf8(small ? lower(token.begin[at], how.fold) : token.begin[at], &utf8);
        }
        return words.find(reinterpret_cast<const uint8_t*>(utf8.data()), utf8.size());
    };
    int32_t id = letter_case == CASE_LOWER ? -1 : find_as(false);
    if (id < 0 && (letter_case == CASE_LOWER || (letter_case == CASE_EXACT_THEN_LOWER && changes))) id = find_as(true);
    if (id < 0 && (how.fold == FOLD_GERMAN || how.rules != RULE_SET_ENGLISH)) return find_spelled(token, scratch);
    return id;
}

// The other spellings of a word, in order: with ss for the German sharp s, with it for each ss, without joiners.
int32_t Vocabulary::find_spelled(const Token& token, std::string* utf8) const {
    const auto code_at = [&](int64_t at) {
        return letter_case == CASE_EXACT ? token.begin[at] : lower(token.begin[at], how.fold);
    };
    enum { WITH_SS, WITH_SHARP_S, WITHOUT_JOINERS, ALL };
    for (int spelling = how.fold == FOLD_GERMAN ? WITH_SS : WITHOUT_JOINERS; spelling < ALL; ++spelling) {
        utf8->clear();
        bool changes = false;
        for (int64_t at = 0; at < token.length; ++at) {
            const Code code = code_at(at);
            if (spelling == WITH_SS && code == SHARP_S[0]) {
                utf8->append("ss");
                changes = true;
            } else if (spelling == WITH_SHARP_S && code == 's' && at + 1 < token.length && code_at(at + 1) == 's') {
                append_utf8(SHARP_S[0], utf8);
                ++at;
                changes = true;
            } else if (spelling == WITHOUT_JOINERS && is_joiner(code)) {
                changes = true;
            } else {
                append_utf8(code, utf8);
            }
        }
        const int32_t id = changes ? words.find(reinterpret_cast<const uint8_t*>(utf8->data()), utf8->size()) : -1;
        if (id >= 0) return id;
    }
    return -1;
}

// The pieces of an unknown word. A piece is a row of its own that no text matches as a word; one that continues a word is
// spelled with PIECE_MARK before it (`##ing`).
//
// 1. The word is split into parts: runs of letters and digits, each ideograph alone; everything between them is left out. A
//    word without any of them is one part.
// 2. A part that is a word has that word's row.
// 3. Else it is matched in lower case and without accents (as it is with case="exact"): the longest word or piece that
//    begins it, then the longest marked piece that begins the rest, and so on to its end.
// 4. A part that cannot be matched to its end has no row. A word of which no part has any, or of more than
//    LONGEST_IN_PIECES characters, stays unknown: this returns false.
bool Vocabulary::look_up_parts(const Token& token, Scratch* scratch, std::vector<int32_t>* ids) const {
    if (token.length > LONGEST_IN_PIECES) return false;
    const auto is_word = [&](int64_t at) {
        const int kind = kind_of(token.begin[at]);
        return kind == KIND_LETTER || kind == KIND_DIGIT;
    };
    bool has_rows = false, has_parts = false;
    for (int64_t at = 0; at < token.length;) {
        int64_t end = at + 1;
        if (is_word(at)) {
            while (end < token.length && is_word(end)) ++end;
        } else if (kind_of(token.begin[at]) != KIND_IDEOGRAPH) {
            at = end;
            continue;
        }
        has_parts = true;
        const Token part{token.begin + at, end - at};
        const int32_t id = part.length < token.length ? find(part, &scratch->utf8) : -1;
        if (id >= 0) ids->push_back(id);
        has_rows = (id >= 0 || look_up_pieces(part, scratch, ids)) || has_rows;
        at = end;
    }
    return has_parts ? has_rows : look_up_pieces(token, scratch, ids);
}

// The longest match first, and again from where it ends; false, and nothing appended, where a rest has no match.
bool Vocabulary::look_up_pieces(const Token& part, Scratch* scratch, std::vector<int32_t>* ids) const {
    std::vector<Code>& plain = scratch->plain;
    plain.clear();
    for (int64_t at = 0; at < part.length; ++at) {
        if (letter_case == CASE_EXACT) plain.push_back(part.begin[at]);
        else append_plain(part.begin[at], &plain);
    }
    // The rest of the part behind the mark, and where each of its characters ends.
    std::string& utf8 = scratch->utf8;
    std::vector<size_t>& ends = scratch->ends;
    const size_t before = ids->size();
    for (size_t start = 0; start < plain.size();) {
        utf8.assign(PIECE_MARK);
        ends.clear();
        for (size_t at = start; at < plain.size(); ++at) {
            append_utf8(plain[at], &utf8);
            ends.push_back(utf8.size());
        }
        const uint8_t* marked = reinterpret_cast<const uint8_t*>(utf8.data());
        const uint8_t* bare = marked + MARK_BYTES;
        size_t characters = ends.size();
        int32_t id = -1;
        for (; characters && id < 0; characters -= id < 0) {
            const size_t length = ends[characters - 1], bare_length = length - MARK_BYTES;
            if (start) {
                if (length <= pieces.longest) id = pieces.find(marked, length);
                continue;
            }
            if (bare_length <= words.longest) id = words.find(bare, bare_length);
            // Text that happens to start with the mark is not the continuation of a word.
            const bool is_marked = bare_length >= MARK_BYTES && !std::memcmp(bare, PIECE_MARK, MARK_BYTES);
            if (id < 0 && bare_length <= pieces.longest && !is_marked) id = pieces.find(bare, bare_length);
        }
        if (id < 0) {
            ids->resize(before);
            return false;
        }
        ids->push_back(id);
        start += characters;
    }
    return ids->size() > before;
}

}  // namespace noppa
