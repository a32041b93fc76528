// Texts and tokens to row numbers.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "binding/arrays.hpp"
#include "binding/topics.hpp"
#include "kernel_constants.hpp"
#include "text/lookup.hpp"
#include "text_rules.hpp"

namespace noppa::binding {
namespace {

// `str.isascii` itself, whatever a subclass makes of it: the stable ABI has no other way to ask.
PyObject* is_ascii_method = nullptr;

bool is_ascii(nb::handle text) {
    PyObject* argument = text.ptr();
    const nb::object answer = nb::steal(PyObject_Vectorcall(is_ascii_method, &argument, 1, nullptr));
    if (!answer.is_valid()) throw nb::python_error();
    return answer.is(Py_True);
}

// Strings whose memory stays valid without the GIL: this holds a reference to each ASCII text, and copies of the others.
class Strings {
  public:
    explicit Strings(size_t count = 0) {
        texts.reserve(count);
        held_.reserve(count);
    }

    // Text above U+02FF may need NFC, any but ASCII NFKC: Python's tables do it. Characters newer than the oldest Python we
    // support stay as they are, so that the result is the same with every Python.
    void add_text(nb::handle text, int form) {
        add(nb::borrow(text));
        const Text here = texts.back();
        const Code safe = form == FORM_NFC ? 0x300 : form == FORM_NFKC ? 0x80 : 0x110000;
        if (largest_of(here) < safe) return;
        const nb::object normalize = nb::module_::import_("unicodedata").attr("normalize");
        nb::list runs;
        for (int64_t start = 0, end; start < here.length; start = end) {
            const bool stable = is_stable(code_at(here, start));
            for (end = start + 1; end < here.length && is_stable(code_at(here, end)) == stable;) ++end;
            const nb::object run = nb::steal(PyUnicode_Substring(text.ptr(), Py_ssize_t(start), Py_ssize_t(end)));
            if (!run.is_valid()) throw nb::python_error();
            runs.append(stable ? normalize(form == FORM_NFC ? "NFC" : "NFKC", run) : run);
        }
        copies_.pop_back();
        texts.pop_back();
        add(nb::str("").attr("join")(runs));
    }
    void add(nb::object text) {
        require(PyUnicode_Check(text.ptr()), "every item must be a str");
        const int64_t length = int64_t(PyUnicode_GetLength(text.ptr()));
        if (is_ascii(text)) {
            texts.push_back({PyUnicode_AsUTF8AndSize(text.ptr(), nullptr), length, 1});
            held_.push_back(std::move(text));
            return;
        }
        std::vector<Code> codes(static_cast<size_t>(length));
        if (!PyUnicode_AsUCS4(text.ptr(), codes.data(), Py_ssize_t(length), 0)) throw nb::python_error();
        texts.push_back({codes.data(), length, 4});
        copies_.push_back(std::move(codes));
    }

    std::vector<Text> texts;

  private:
    static Code largest_of(const Text& text) {
        if (text.width == 1) return 0;  // ASCII
        Code largest = 0;
        for (int64_t at = 0; at < text.length; ++at) largest = std::max(largest, code_at(text, at));
        return largest;
    }
    std::vector<nb::object> held_;
    std::vector<std::vector<Code>> copies_;
};

// The numbers of Tokenizer.scanner_options in noppa/text/tokenizer.py.
using Numbers = std::tuple<int, int, int, int>;

Splitting checked_splitting(const Numbers& numbers) {
    const Splitting how{std::get<0>(numbers), std::get<1>(numbers), std::get<2>(numbers), std::get<3>(numbers)};
    require(how.rules >= RULE_SET_ENGLISH && how.rules <= RULE_SET_WHITESPACE, "no such rules");
    require(how.run >= RUN_NONE && how.run <= RUN_WHOLE, "no such way with runs");
    require(how.fold >= FOLD_NONE && how.fold <= FOLD_GERMAN, "no such fold");
    require(how.form >= FORM_NFC && how.form <= FORM_NONE, "no such normal form");
    return how;
}

std::vector<std::string> tokens_of(nb::handle text, const Splitting& how, const Vocabulary* vocabulary) {
    Strings strings;
    strings.add_text(text, how.form);
    thread_local Scanner scanner;
    std::vector<std::string> tokens;
    for (const Token& token : scanner.tokens(strings.texts[0], how, vocabulary)) {
        std::string utf8;
        for (int64_t at = 0; at < token.length; ++at) append_utf8(token.begin[at], &utf8);
        tokens.push_back(std::move(utf8));
    }
    scanner.release_if_large();
    return tokens;
}

std::vector<std::string> tokenize(nb::handle text, const Numbers& how) {
    return tokens_of(text, checked_splitting(how), nullptr);
}

// Bounds (words + 1,) that rise from 0 or later and end inside the text.
void checked_bounds(const Array1<uint8_t>& text, const Array1<int64_t>& bounds) {
    const size_t count = bounds.shape(0);
    require(count >= 1 && count <= size_t(INT32_MAX),
            "damaged bounds: there are none, or more than rows can have numbers");
    bool falls = bounds(0) < 0;
    for (size_t at = 1; at < count; ++at) falls |= bounds(at) < bounds(at - 1);
    require(!falls, "damaged bounds: they fall");
    require(uint64_t(bounds(count - 1)) <= text.shape(0), "damaged bounds: they end beyond the text");
}

struct Slots {
    uint64_t size, seed;
};

// A seed other than 0 stands behind the slots, whose number is a power of two.
Slots checked_slots(const Array1<uint64_t>& slots, int64_t words) {
    Slots table{slots.shape(0), 0};
    if (table.size & (table.size - 1)) table.seed = slots(size_t(--table.size));
    const char* fault = fault_of(slots.data(), table.size, words);
    if (fault) throw std::invalid_argument(std::string("damaged slots: ") + fault);
    return table;
}

struct PyVocabulary {
    Array1<uint8_t> text;
    Array1<int64_t> bounds;
    Array1<uint64_t> slots;
    std::optional<Array1<uint64_t>> piece_slots;
    Vocabulary vocabulary;

    // `slots` are those of all words but the last `pieces`, which have `piece_slots`. Damaged arrays are refused here,
    // so that no lookup reads outside of them or loops forever.
    PyVocabulary(Array1<uint8_t> t, Array1<int64_t> b, Array1<uint64_t> s, int letter_case, int32_t unknown,
                 int64_t pieces, std::optional<Array1<uint64_t>> p, const Numbers& how, bool composed)
        : text(t), bounds(b), slots(s), piece_slots(p) {
        checked_bounds(text, bounds);
        const int64_t rows = int64_t(bounds.shape(0)) - 1;
        require(pieces >= 0 && pieces <= rows && (!pieces || p), "pieces do not fit the words");
        require(letter_case >= CASE_EXACT_THEN_LOWER && letter_case <= CASE_LOWER, "no such letter case");
        require(unknown >= DROPPED, "unknown is no row");
        vocabulary = {index(0, rows - pieces, slots), {}, composed && pieces, letter_case, unknown,
                      checked_splitting(how),         {}};
        if (vocabulary.how.run == RUN_VOCABULARY) vocabulary.beginnings = Beginnings(vocabulary.words);
        if (!pieces) return;  // only a search for pieces asks how long a word can be
        vocabulary.pieces = index(rows - pieces, pieces, *piece_slots);
        for (Index* each : {&vocabulary.words, &vocabulary.pieces})
            each->longest = longest_of(each->bounds, each->words);
    }

    Index index(int64_t first, int64_t words, const Array1<uint64_t>& slots_of) const {
        const Slots table = checked_slots(slots_of, words);
        return {text.data(), bounds.data() + first, words, slots_of.data(), table.size - 1, table.seed, first, 0};
    }

    int32_t find(const std::string& word) const {
        return vocabulary.words.find(reinterpret_cast<const uint8_t*>(word.data()), word.size());
    }

    std::vector<std::string> tokenize(nb::handle text) const { return tokens_of(text, vocabulary.how, &vocabulary); }

    using Seen = std::optional<nb::list>;

    // Adds to `seen` how many words there were, and how many of them were found whole.
    static nb::tuple result(Ids rows, Seen seen) {
        if (seen) {
            require(nb::len(*seen) == 2, "seen has two numbers");
            (*seen)[0] = nb::cast<int64_t>((*seen)[0]) + rows.seen.words;
            (*seen)[1] = nb::cast<int64_t>((*seen)[1]) + rows.seen.known;
        }
        return nb::make_tuple(numpy(rows.ids), numpy(rows.offsets));
    }

    nb::tuple look_up(nb::list texts, int threads, Seen seen) const {
        const nb::tuple items(texts);  // a copy: while Python normalizes a text, other threads may change the list
        Strings strings(nb::len(items));
        for (nb::handle text : items) strings.add_text(text, vocabulary.how.form);
        Ids rows;
        {
            nb::gil_scoped_release released;
            rows = noppa::look_up(vocabulary, strings.texts, threads);
        }
        return result(std::move(rows), seen);
    }

    nb::tuple look_up_tokens(nb::list sentences, Seen seen) const {
        Strings strings;
        std::vector<int64_t> offsets{0};
        for (nb::handle sentence : sentences) {
            for (nb::handle token : nb::cast<nb::list>(sentence)) strings.add(nb::borrow(token));
            offsets.push_back(int64_t(strings.texts.size()));
        }
        return result(noppa::look_up_tokens(vocabulary, strings.texts, offsets), seen);
    }
};

// A hash key that is the same for the same words and cannot be predicted, so that nobody can choose words that collide.
uint64_t seed_of(const Array1<uint8_t>& text, const Array1<int64_t>& bounds) {
    nb::object digest = nb::module_::import_("hashlib").attr("blake2b")("digest_size"_a = 8);
    digest.attr("update")(nb::bytes(reinterpret_cast<const char*>(bounds.data()), bounds.nbytes()));
    digest.attr("update")(nb::bytes(reinterpret_cast<const char*>(text.data()), text.nbytes()));
    uint64_t seed;
    std::memcpy(&seed, nb::cast<nb::bytes>(digest.attr("digest")()).c_str(), sizeof seed);
    return seed | 1;
}

// Slots of a vocabulary, with their seed behind them where it is not 0, and the row numbers whose word stood before.
nb::tuple build_slots_py(Array1<uint8_t> text, Array1<int64_t> bounds) {
    checked_bounds(text, bounds);
    std::vector<int64_t> repeated;
    std::vector<uint64_t> slots;
    const auto build = [&](uint64_t seed) {
        nb::gil_scoped_release released;
        repeated.clear();
        slots = build_slots(text.data(), bounds.data(), int64_t(bounds.shape(0)) - 1, seed, &repeated);
    };
    build(0);
    for (uint64_t seed = slots.empty() ? seed_of(text, bounds) : 0; slots.empty(); seed += 2) {
        build(seed);
        if (!slots.empty()) slots.push_back(seed);
    }
    return nb::make_tuple(numpy(slots), numpy(repeated));
}

// The only character of a str.
Code only_code(nb::handle character) {
    Strings strings;
    strings.add(nb::borrow(character));
    require(strings.texts[0].length == 1, "expected one character");
    return code_at(strings.texts[0], 0);
}

// Lower case character by character, so that no letter depends on its neighbours (final sigma).
nb::object lower_py(nb::handle text, int fold) {
    Strings strings;
    strings.add(nb::borrow(text));
    const Text here = strings.texts[0];
    PyObject* lowered;
    if (here.width == 1 && fold != FOLD_TURKISH) {
        std::string letters(static_cast<const char*>(here.data), size_t(here.length));
        for (char& letter : letters) letter = char(lower(Code(letter)));
        lowered = PyUnicode_FromStringAndSize(letters.data(), Py_ssize_t(letters.size()));
    } else {
        std::vector<Code> codes(static_cast<size_t>(here.length));
        for (int64_t at = 0; at < here.length; ++at) codes[size_t(at)] = lower(code_at(here, at), fold);
        int order = PY_LITTLE_ENDIAN ? -1 : 1;
        lowered = PyUnicode_DecodeUTF32(reinterpret_cast<const char*>(codes.data()),
                                        Py_ssize_t(codes.size() * sizeof(Code)), "surrogatepass", &order);
    }
    if (!lowered) throw nb::python_error();
    return nb::steal(lowered);
}

bool is_mark(Code code) {
    std::vector<Code> plain;
    append_plain(code, &plain);
    return plain.empty();
}

// The place of the first item that is not a str, or -1.
int64_t first_other(nb::list items) {
    int64_t at = 0;
    for (nb::handle item : items) {
        if (!PyUnicode_Check(item.ptr())) return at;
        ++at;
    }
    return -1;
}

}  // namespace

void bind_text(nb::module_& module) {
    is_ascii_method =
        nb::borrow(reinterpret_cast<PyObject*>(&PyUnicode_Type)).attr("isascii").ptr();  // a type never goes
    module.def("character_kind", [](nb::handle character) { return kind_of(only_code(character)); }, "character"_a);
    module.def("is_mark", [](nb::handle character) { return is_mark(only_code(character)); }, "character"_a);
    module.def(
        "is_segmented", [](nb::handle character) { return bool(breaks_of(only_code(character)) & BREAKS_SEGMENTED); },
        "character"_a);
    module.def("lower", &lower_py, "text"_a, "fold"_a = 0);
    module.def("tokenize", &tokenize, "text"_a, "how"_a = Numbers{});
    module.def("first_other", &first_other, "items"_a);
    module.def("build_slots", &build_slots_py, "text"_a, "bounds"_a);
    module.def(
        "check_slots", [](Array1<uint64_t> slots, int64_t words) { checked_slots(slots, words); }, "slots"_a,
        "words"_a);
    nb::class_<PyVocabulary>(module, "Vocabulary")
        .def(nb::init<Array1<uint8_t>, Array1<int64_t>, Array1<uint64_t>, int, int32_t, int64_t,
                      std::optional<Array1<uint64_t>>, const Numbers&, bool>(),
             "text"_a, "bounds"_a, "slots"_a, "letter_case"_a, "unknown"_a, "pieces"_a = 0,
             "piece_slots"_a = nb::none(), "how"_a = Numbers{}, "composed"_a = false)
        .def("tokenize", &PyVocabulary::tokenize, "text"_a)
        .def("find", &PyVocabulary::find, "word"_a)
        .def("look_up", &PyVocabulary::look_up, "texts"_a, "threads"_a, "seen"_a = nb::none())
        .def("look_up_tokens", &PyVocabulary::look_up_tokens, "sentences"_a, "seen"_a = nb::none());
}

}  // namespace noppa::binding
