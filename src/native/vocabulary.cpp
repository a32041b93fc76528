#include "vocabulary.hpp"

#include <cstring>

namespace noppa {
namespace {

constexpr uint64_t PRIME = 0x9e3779b97f4a7c15ull;

uint64_t mixed(uint64_t h) {
    h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93ull;
    return h ^ (h >> 32);
}

uint64_t slot_of(uint64_t hash, int64_t id) { return (hash & 0xffffffff00000000ull) | uint64_t(id + 1); }

}  // namespace

void append_utf8(Code code, std::string* out) {
    if (code >= 0xd800 && code <= 0xdfff) code = 0xfffd;
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

uint64_t hash_of(const uint8_t* bytes, size_t length) {
    uint64_t h = length * PRIME;
    while (length >= 8) {
        uint64_t eight;
        std::memcpy(&eight, bytes, 8);
        h = mixed((h ^ eight) * PRIME);
        bytes += 8;
        length -= 8;
    }
    uint64_t rest = 0;
    for (size_t at = 0; at < length; ++at) rest |= uint64_t(bytes[at]) << (8 * at);
    return mixed((h ^ rest) * PRIME);
}

std::vector<uint64_t> build_slots(const uint8_t* text, const int64_t* bounds, int64_t words,
                                  std::vector<int64_t>* repeated) {
    uint64_t size = 16;
    while (size < uint64_t(words) * 2) size *= 2;
    std::vector<uint64_t> slots(size, 0);
    Vocabulary so_far{text, bounds, words, slots.data(), size - 1, EXACT, -1};
    for (int64_t id = 0; id < words; ++id) {
        const uint8_t* bytes = text + bounds[id];
        const size_t length = size_t(bounds[id + 1] - bounds[id]);
        if (so_far.find(bytes, length) >= 0) {
            repeated->push_back(id);
            continue;
        }
        const uint64_t hash = hash_of(bytes, length);
        uint64_t at = hash & (size - 1);
        while (slots[at]) at = (at + 1) & (size - 1);
        slots[at] = slot_of(hash, id);
    }
    return slots;
}

int32_t Vocabulary::find(const uint8_t* bytes, size_t length) const {
    const uint64_t hash = hash_of(bytes, length);
    for (uint64_t at = hash & mask; slots[at]; at = (at + 1) & mask) {
        if ((slots[at] ^ hash) >> 32) continue;
        const int64_t id = int64_t(slots[at] & 0xffffffffu) - 1;
        if (size_t(bounds[id + 1] - bounds[id]) == length && !std::memcmp(text + bounds[id], bytes, length))
            return int32_t(id);
    }
    return -1;
}

int32_t Vocabulary::look_up(const Token& token, std::string* utf8) const {
    bool plain = true, changes = false;
    for (int64_t at = 0; at < token.length; ++at) {
        plain &= token.begin[at] < 128;
        changes |= lower(token.begin[at]) != token.begin[at];
    }
    const auto find_as = [&](bool small) {
        utf8->clear();
        if (plain) {
            utf8->resize(size_t(token.length));
            char* out = utf8->data();
            for (int64_t at = 0; at < token.length; ++at) out[at] = char(small ? lower(token.begin[at]) : token.begin[at]);
        } else {
            for (int64_t at = 0; at < token.length; ++at)
                append_utf8(small ? lower(token.begin[at]) : token.begin[at], utf8);
        }
        return find(reinterpret_cast<const uint8_t*>(utf8->data()), utf8->size());
    };
    int32_t id = letter_case == LOWER ? -1 : find_as(false);
    if (id < 0 && (letter_case == LOWER || (letter_case == EXACT_THEN_LOWER && changes))) id = find_as(true);
    return id < 0 ? unknown : id;
}

}  // namespace noppa
