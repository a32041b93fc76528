#include "vector_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernel_constants.hpp"
#include "sizes.hpp"
#include "workers.hpp"

namespace noppa {
namespace {

bool separates(char c) { return c == ' ' || c == '\t'; }

// 10^0 … 10^22 are exact in double.
constexpr double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                             1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

float read_slowly(const char* begin, const char* end) {
#if defined(__cpp_lib_to_chars)
    float value = 0;
    const auto result = std::from_chars(begin + (*begin == '+'), end, value);
    // Out of range is either too large, which is refused later, or so small that it is zero.
    if (result.ec == std::errc::result_out_of_range) return std::strtof(std::string(begin, end).c_str(), nullptr);
    return value;
#else
    return std::strtof(std::string(begin, end).c_str(), nullptr);
#endif
}

// A decimal number at `at`, which moves behind it; false if there is none. The grammar is [+-]digits[.digits][e[+-]digits].
bool read_number(const char** at, const char* end, float* out) {
    const char* const begin = *at;
    const char* p = begin;
    bool negative = false;
    if (p < end && (*p == '-' || *p == '+')) negative = *p++ == '-';
    uint64_t digits = 0;
    int digit_count = 0;
    int64_t exponent = 0;
    const char* const whole = p;
    for (; p < end && unsigned(*p - '0') < 10; ++p) {
        if (digit_count < 19) {
            digits = digits * 10 + unsigned(*p - '0');
            digit_count += digits != 0;
        } else {
            ++exponent;
        }
    }
    int64_t digits_read = p - whole;
    if (p < end && *p == '.') {
        const char* const part = ++p;
        for (; p < end && unsigned(*p - '0') < 10; ++p) {
            if (digit_count < 19) {
                digits = digits * 10 + unsigned(*p - '0');
                digit_count += digits != 0;
                --exponent;
            }
        }
        digits_read += p - part;
    }
    if (!digits_read) return false;
    const bool truncated = digit_count == 19;
    if (p < end && (*p == 'e' || *p == 'E')) {
        ++p;
        bool down = false;
        if (p < end && (*p == '-' || *p == '+')) down = *p++ == '-';
        int power = 0;
        const char* const first = p;
        for (; p < end && unsigned(*p - '0') < 10; ++p) power = std::min(power * 10 + (*p - '0'), 100000);
        if (p == first) return false;
        exponent += down ? -power : power;
    }
    *at = p;
    if (!truncated && digits < (uint64_t(1) << 53) && exponent >= -22 && exponent <= 22) {
        // Both operands are exact, so the double is the nearest to the text. Rounding it again to float32 can only go wrong
        // where it lies half-way between two floats, or below the normal ones.
        const double value = exponent < 0 ? double(digits) / POWERS[-exponent] : double(digits) * POWERS[exponent];
        uint64_t bits;
        std::memcpy(&bits, &value, 8);
        if ((bits & 0x1fffffff) != 0x10000000 && (value >= 1.1754943508222875e-38 || digits == 0)) {
            *out = float(negative ? -value : value);
            return true;
        }
    }
    *out = read_slowly(begin, p);
    return true;
}

bool proper(float value) { return std::fabs(value) <= float(LARGEST_VALUE); }

// The usual line: a word without a space, and exactly dim numbers.
bool read_plain(const char* at, const char* end, int64_t dim, const char** word_end, float* row) {
    while (at < end && !separates(*at)) ++at;
    *word_end = at;
    for (int64_t d = 0; d < dim; ++d) {
        if (at == end || !separates(*at)) return false;
        while (at < end && separates(*at)) ++at;
        if (!read_number(&at, end, row + d) || !proper(row[d])) return false;
    }
    return at == end;
}

bool looks_like_value(const char* begin, const char* end) {
    float ignored;
    const char* at = begin;
    return std::find(begin, end, '.') != end && read_number(&at, end, &ignored) && at == end;
}

// Any line: the last dim fields are numbers and the word is what stands before them, spaces and all.
bool read_from_right(const char* begin, const char* end, int64_t dim, const char** word_end, float* row) {
    const char* field_end = end;
    for (int64_t d = dim - 1; d >= 0; --d) {
        const char* field = field_end;
        while (field > begin && !separates(field[-1])) --field;
        const char* at = field;
        if (field == begin || !read_number(&at, field_end, row + d) || at != field_end || !proper(row[d])) return false;
        field_end = field;
        while (d > 0 && field_end > begin && separates(field_end[-1])) --field_end;
    }
    const char* last = field_end;  // behind the separators that end the word
    while (last > begin && separates(last[-1])) --last;
    // A word of nothing but spaces keeps all of them except the one that separates.
    *word_end = last == begin ? field_end - 1 : last;
    const char* field = last;
    while (field > begin && !separates(field[-1])) --field;
    return field == begin || !looks_like_value(field, last);  // else the row is longer than dim
}

bool is_utf8(const uint8_t* p, const uint8_t* end) {
    while (p < end) {
        if (*p < 0x80) {
            ++p;
            continue;
        }
        const int more = *p >= 0xc2 && *p < 0xe0 ? 1 : *p >= 0xe0 && *p < 0xf0 ? 2 : *p >= 0xf0 && *p < 0xf5 ? 3 : 0;
        if (!more || end - p <= more) return false;
        const uint8_t low = *p == 0xe0 ? 0xa0 : *p == 0xf0 ? 0x90 : 0x80;
        const uint8_t high = *p == 0xed ? 0x9f : *p == 0xf4 ? 0x8f : 0xbf;
        if (p[1] < low || p[1] > high) return false;
        for (int at = 2; at <= more; ++at)
            if ((p[at] & 0xc0) != 0x80) return false;
        p += more + 1;
    }
    return true;
}

void add_word(const char* begin, const char* end, int64_t at, VectorRows* rows) {
    if (!is_utf8(reinterpret_cast<const uint8_t*>(begin), reinterpret_cast<const uint8_t*>(end))) {
        rows->invalid_utf8.push_back(int64_t(rows->bounds.size()) - 1);
        rows->invalid_utf8_starts.push_back(at);
    }
    rows->text.insert(rows->text.end(), begin, end);
    rows->bounds.push_back(int64_t(rows->text.size()));
}

// Rows of a word and dim numbers that so many bytes can hold: a number and its separator are two at least.
int64_t most_rows(int64_t bytes, int64_t dim) { return bytes / 2 / dim; }

// The lines of one piece of the block into `matrix`, from its first row on. A line too short for a row is never written
// there, so that most_rows() of them are room enough.
void parse_piece(const char* block, const char* begin, const char* end, int64_t dim, float* matrix, VectorRows* rows) {
    for (const char* line = begin; line < end;) {
        const char* next = static_cast<const char*>(std::memchr(line, '\n', size_t(end - line)));
        const char* last = next ? next : end;
        next = next ? next + 1 : end;
        if (last > line && last[-1] == '\r') --last;
        while (last > line && separates(last[-1])) --last;
        if (last > line) {
            const char* word_end;
            if (most_rows(last - line, dim) && ((!separates(*line) && read_plain(line, last, dim, &word_end, matrix)) ||
                                                read_from_right(line, last, dim, &word_end, matrix))) {
                add_word(line, word_end, line - block, rows);
                matrix += dim;
            } else {
                rows->bad_starts.push_back(line - block);
            }
        }
        line = next;
    }
}

}  // namespace

VectorRows parse_vectors(const char* block, size_t length, int64_t dim, int threads) {
    constexpr size_t PIECE = 1 << 18;
    std::vector<const char*> cuts{block};
    const char* const end = block + length;
    while (cuts.back() < end) {
        const char* cut = cuts.back() + std::min<size_t>(PIECE, size_t(end - cuts.back()));
        const char* line = static_cast<const char*>(std::memchr(cut, '\n', size_t(end - cut)));
        cuts.push_back(line ? line + 1 : end);
    }
    const int64_t pieces = int64_t(cuts.size()) - 1;
    std::vector<int64_t> feeds(size_t(pieces), 0), first(size_t(pieces) + 1, 0);
    run_tasks(pieces, threads,
              [&](int64_t at) { feeds[size_t(at)] = std::count(cuts[size_t(at)], cuts[size_t(at) + 1], '\n'); });
    for (int64_t at = 0; at < pieces; ++at) {
        const int64_t most = most_rows(cuts[size_t(at) + 1] - cuts[size_t(at)], dim);
        first[size_t(at) + 1] = first[size_t(at)] + std::min(feeds[size_t(at)] + 1, most);
    }

    VectorRows whole;
    for (int64_t count : feeds) whole.consumed += count;
    whole.matrix.reset(new float[size_t(std::max<int64_t>(1, first.back() * dim))]);
    std::vector<VectorRows> parts(static_cast<size_t>(pieces));
    run_tasks(pieces, threads, [&](int64_t at) {
        parse_piece(block, cuts[size_t(at)], cuts[size_t(at) + 1], dim, whole.matrix.get() + first[size_t(at)] * dim,
                    &parts[size_t(at)]);
    });
    for (int64_t at = 0; at < pieces; ++at) {
        const VectorRows& part = parts[size_t(at)];
        const int64_t before = int64_t(whole.bounds.size()) - 1, count = int64_t(part.bounds.size()) - 1;
        const int64_t shift = whole.bounds.back();
        if (before != first[size_t(at)])
            std::memmove(whole.matrix.get() + before * dim, whole.matrix.get() + first[size_t(at)] * dim,
                         size_t(count * dim) * sizeof(float));
        whole.text.insert(whole.text.end(), part.text.begin(), part.text.end());
        for (int64_t row = 1; row <= count; ++row) whole.bounds.push_back(part.bounds[size_t(row)] + shift);
        whole.bad_starts.insert(whole.bad_starts.end(), part.bad_starts.begin(), part.bad_starts.end());
        for (int64_t row : part.invalid_utf8) whole.invalid_utf8.push_back(row + before);
        whole.invalid_utf8_starts.insert(whole.invalid_utf8_starts.end(), part.invalid_utf8_starts.begin(),
                                         part.invalid_utf8_starts.end());
    }
    return whole;
}

VectorRows parse_records(const char* block, size_t length, int64_t dim, int64_t most) {
    VectorRows rows;
    const size_t bytes = size_t(times(dim, sizeof(float)));
    const size_t room = std::min<size_t>(size_t(most), length / (bytes + 1)) * size_t(dim);
    rows.matrix.reset(new float[std::max<size_t>(1, room)]);
    const char* const end = block + length;
    for (const char* at = block; int64_t(rows.bounds.size()) <= most;) {
        const char* const start = at;
        if (at < end && *at == '\n') ++at;
        const char* space = static_cast<const char*>(std::memchr(at, ' ', size_t(end - at)));
        if (!space || size_t(end - space - 1) < bytes) break;
        float* row = rows.matrix.get() + (rows.bounds.size() - 1) * size_t(dim);
        std::memcpy(row, space + 1, bytes);
        if (std::all_of(row, row + dim, proper)) add_word(at, space, start - block, &rows);
        else rows.bad_starts.push_back(start - block), --most;
        at = space + 1 + bytes;
        rows.consumed = at - block;
    }
    return rows;
}

std::vector<std::string> format_rows(const float* matrix, int64_t rows, int64_t dim, const std::string& separator,
                                     int threads) {
    constexpr int64_t RUN = 64;
    std::vector<std::string> lines(static_cast<size_t>(rows));
    run_tasks((rows + RUN - 1) / RUN, threads, [&](int64_t run) {
        for (int64_t row = run * RUN; row < std::min(rows, (run + 1) * RUN); ++row) {
            std::string& line = lines[size_t(row)];
            line.reserve(size_t(times(dim, int64_t(10 + separator.size()))));
            for (int64_t d = 0; d < dim; ++d) {
                char number[32];
                if (d) line += separator;
#if defined(__cpp_lib_to_chars)
                const auto done = std::to_chars(number, number + sizeof number, matrix[row * dim + d]);
                line.append(number, done.ptr);
#else
                line.append(number, size_t(std::snprintf(number, sizeof number, "%.9g", double(matrix[row * dim + d]))));
#endif
            }
        }
    });
    return lines;
}

}  // namespace noppa
