// Python's view of the native code. Everything here checks shapes, lets go of the GIL and calls batch.hpp.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <new>
#include <optional>
#include <stdexcept>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "batch.hpp"
#include "training.hpp"
#include "vector_text.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace noppa;

namespace {

template <class T>
using Array1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Array2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using Scales = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;

void require(bool holds, const char* message) {
    if (!holds) throw std::invalid_argument(message);
}

template <class T>
nb::object numpy(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner));
}

// Memory for results. Large ones ask for huge pages, as NumPy does: touching new small pages costs more than pooling.
void* allocate(size_t bytes) {
#if defined(__linux__)
    constexpr size_t huge = size_t(2) << 20;
    if (bytes >= 2 * huge) {
        void* memory = std::aligned_alloc(huge, (bytes + huge - 1) / huge * huge);
        if (!memory) throw std::bad_alloc();
        madvise(memory, bytes, MADV_HUGEPAGE);
        return memory;
    }
#endif
    void* memory = std::malloc(bytes ? bytes : 1);
    if (!memory) throw std::bad_alloc();
    return memory;
}

template <class T, class... Sizes>
nb::ndarray<nb::numpy, T> empty(Sizes... sizes) {
    size_t count = 1;
    for (size_t size : {size_t(sizes)...}) count *= size;
    T* memory = static_cast<T*>(allocate(count * sizeof(T)));
    nb::capsule owner(memory, [](void* p) noexcept { std::free(p); });
    return nb::ndarray<nb::numpy, T>(memory, {size_t(sizes)...}, owner);
}

// Strings whose memory stays valid without the GIL: this holds a reference to each.
class Strings {
  public:
    // A text above U+02FF may not be in NFC; Python's own tables decide.
    void add_text(nb::handle text) {
        if (PyUnicode_Check(text.ptr()) && PyUnicode_MAX_CHAR_VALUE(text.ptr()) >= 0x300)
            add(nb::module_::import_("unicodedata").attr("normalize")("NFC", text));
        else
            add(nb::borrow(text));
    }
    void add(nb::object text) {
        require(PyUnicode_Check(text.ptr()), "every item must be a str");
        texts.push_back({PyUnicode_DATA(text.ptr()), int64_t(PyUnicode_GET_LENGTH(text.ptr())),
                         int(PyUnicode_KIND(text.ptr()))});
        held_.push_back(std::move(text));
    }

    std::vector<Text> texts;

  private:
    std::vector<nb::object> held_;
};

std::vector<std::string> tokenize(nb::handle text) {
    Strings strings;
    strings.add_text(text);
    Scanner scanner;
    std::vector<std::string> tokens;
    for (const Token& token : scanner.tokens(strings.texts[0])) {
        std::string utf8;
        for (int64_t at = 0; at < token.length; ++at) append_utf8(token.begin[at], &utf8);
        tokens.push_back(std::move(utf8));
    }
    return tokens;
}

// Some columns of a larger matrix are a table too. 8-bit rows have scales (words,), or (words, blocks) and the widths of
// the blocks.
struct PyTable {
    AnyMatrix matrix;
    std::optional<Scales> scales;
    std::vector<int64_t> edges;
    Table table;

    PyTable(AnyMatrix m, std::optional<Scales> s, const std::vector<int64_t>& blocks) : matrix(m), scales(s), edges{0} {
        table.rows = matrix.data();
        table.words = int64_t(matrix.shape(0));
        table.dim = int64_t(matrix.shape(1));
        table.stride = matrix.stride(0);
        require(table.dim == 1 || matrix.stride(1) == 1, "the numbers of a row must lie side by side");
        table.scales = scales ? scales->data() : nullptr;
        for (const int64_t width : blocks) {
            require(width > 0, "a block needs columns");
            edges.push_back(edges.back() + width);
        }
        if (blocks.empty()) edges.push_back(table.dim);
        require(edges.back() == table.dim, "the blocks do not cover the columns");
        table.edges = edges.data();
        table.blocks = int64_t(edges.size()) - 1;
        const nb::dlpack::dtype kind = matrix.dtype();
        if (kind == nb::dtype<float>()) table.storage = FLOAT32;
        else if (kind == nb::dtype<int8_t>()) table.storage = INT8;
        else if (kind.code == uint8_t(nb::dlpack::dtype_code::Float) && kind.bits == 16) table.storage = FLOAT16;
        else throw std::invalid_argument("a matrix is float32, float16 or int8");
        require((table.storage == INT8) == bool(table.scales), "8-bit rows need scales, and only they");
        require(!scales || int64_t(scales->size()) == table.words * table.blocks, "one scale a row and block");
    }
};

struct PyVocabulary {
    Array1<uint8_t> text;
    Array1<int64_t> bounds;
    Array1<uint64_t> slots;
    std::optional<Array1<uint64_t>> piece_slots;
    Vocabulary vocabulary;

    // `slots` are those of all words but the last `pieces`, which have `piece_slots`.
    PyVocabulary(Array1<uint8_t> t, Array1<int64_t> b, Array1<uint64_t> s, int letter_case, int32_t unknown,
                 int64_t pieces, std::optional<Array1<uint64_t>> p)
        : text(t), bounds(b), slots(s), piece_slots(p) {
        require(pieces >= 0 && int64_t(bounds.shape(0)) > pieces && (!pieces || p), "damaged vocabulary");
        const int64_t words = int64_t(bounds.shape(0)) - 1 - pieces;
        vocabulary = {index(0, words, slots), {}, letter_case, unknown};
        if (!pieces) return;  // only a search for pieces asks how long a word can be
        vocabulary.pieces = index(words, pieces, *piece_slots);
        for (Index* each : {&vocabulary.words, &vocabulary.pieces}) each->longest = longest_of(each->bounds, each->words);
    }

    Index index(int64_t first, int64_t words, const Array1<uint64_t>& slots_of) const {
        const uint64_t size = slots_of.shape(0);
        require(size > uint64_t(words) && (size & (size - 1)) == 0, "damaged vocabulary");
        return {text.data(), bounds.data() + first, words, slots_of.data(), size - 1, first, 0};
    }

    int32_t find(const std::string& word) const {
        return vocabulary.words.find(reinterpret_cast<const uint8_t*>(word.data()), word.size());
    }

    nb::tuple look_up(nb::list texts, int threads) const {
        Strings strings;
        for (nb::handle text : texts) strings.add_text(text);
        Ids found;
        {
            nb::gil_scoped_release released;
            found = noppa::look_up(vocabulary, strings.texts, threads);
        }
        return nb::make_tuple(numpy(std::move(found.ids)), numpy(std::move(found.offsets)));
    }

    nb::tuple look_up_tokens(nb::list sentences) const {
        Strings strings;
        std::vector<int64_t> offsets{0};
        for (nb::handle sentence : sentences) {
            for (nb::handle token : nb::cast<nb::list>(sentence)) strings.add(nb::borrow(token));
            offsets.push_back(int64_t(strings.texts.size()));
        }
        Ids found = noppa::look_up_tokens(vocabulary, strings.texts, offsets);
        return nb::make_tuple(numpy(std::move(found.ids)), numpy(std::move(found.offsets)));
    }
};

// Steps as tuples ("remove", left, right, bias), ("map", matrix, bias), ("normalise", width), checked and kept.
struct PySteps {
    std::vector<nb::object> arrays;
    std::vector<Step> steps;

    explicit PySteps(nb::list described) {
        for (nb::handle item : described) {
            nb::tuple parts = nb::cast<nb::tuple>(item);
            const std::string kind = nb::cast<std::string>(parts[0]);
            Step step{};
            if (kind == "normalise") {
                step.kind = Step::NORMALISE;
                step.in = step.out = nb::cast<int64_t>(parts[1]);
            } else {
                const bool map = kind == "map";
                auto left = nb::cast<Array2<float>>(parts[1]);
                auto bias = nb::cast<Array1<float>>(parts[map ? 2 : 3]);
                step.kind = map ? Step::MAP : Step::REMOVE;
                step.left = left.data();
                step.bias = bias.data();
                step.inner = int64_t(left.shape(0));
                step.in = int64_t(left.shape(map ? 0 : 1));
                step.out = int64_t(left.shape(1));
                require(bias.shape(0) == left.shape(map ? 1 : 0), "bias of the wrong length");
                if (!map) {
                    auto right = nb::cast<Array2<float>>(parts[2]);
                    require(right.shape(0) == left.shape(0) && right.shape(1) == left.shape(1), "right differs from left");
                    step.right = right.data();
                }
            }
            require(steps.empty() || steps.back().out == step.in, "a step does not fit the one before it");
            steps.push_back(step);
            arrays.push_back(nb::borrow(item));
        }
    }
};

nb::tuple pool_noppa_py(const PyTable& table, std::optional<Array1<float>> weights, std::optional<Array2<float>> positions,
                        int kernel, bool attend_self, bool dropped_take_position, std::vector<int32_t> parts,
                        Array1<int32_t> ids, Array1<int64_t> offsets, const PySteps& steps, int threads) {
    const int64_t words = table.table.words, dim = table.table.dim;
    const int64_t sentences = int64_t(offsets.shape(0)) - 1, tokens = int64_t(ids.shape(0));
    require(sentences >= 0 && offsets(0) == 0 && offsets(size_t(sentences)) == tokens, "offsets do not fit the ids");
    require(!weights || int64_t(weights->shape(0)) == words + 1, "one weight a word and one for the zero word");
    const int64_t wide = (dim + POSITION_UNIT - 1) / POSITION_UNIT * POSITION_UNIT;
    require(!positions || int64_t(positions->shape(1)) == wide, "positions of the wrong width");
    require(kernel >= LOG2 && kernel <= SQUARE, "no such kernel");
    bool context = false, word = false;
    for (const int32_t part : parts) {
        require(part >= CONTEXT && part != COSINE, "no such part");
        context = context || part == CONTEXT || part == ORDERED || part == PRODUCT;
        word = word || part == WORD;
    }
    const int64_t width = dim * int64_t(parts.size());
    require(steps.steps.empty() || steps.steps.front().in == width, "the first step does not fit the pooled rows");
    int64_t longest = 0;
    for (int64_t s = 0; s < sentences; ++s) {
        const int64_t length = offsets(size_t(s + 1)) - offsets(size_t(s));
        require(length >= 0, "offsets fall");
        longest = length > longest ? length : longest;
    }
    require(!positions || int64_t(positions->shape(0)) >= longest, "too few positions");
    for (int64_t t = 0; t < tokens; ++t) require(ids(size_t(t)) >= DROPPED && ids(size_t(t)) <= words, "an id is no word");
    const int64_t last = steps.steps.empty() ? width : steps.steps.back().out;
    auto rows = empty<float>(sentences, last);
    auto known = empty<int32_t>(sentences);
    const Noppa noppa{weights ? weights->data() : nullptr, positions ? positions->data() : nullptr,
                      kernel, attend_self, dropped_take_position, context, word,
                      parts.data(), int64_t(parts.size())};
    {
        nb::gil_scoped_release released;
        pool_noppa(table.table, noppa, {ids.data(), offsets.data(), sentences}, steps.steps, threads, rows.data(),
                   known.data());
    }
    return nb::make_tuple(nb::cast(rows), nb::cast(known));
}

// Flat ids that were checked: offsets that rise from 0 to the number of ids, and ids that are words.
Batch checked_batch(const Table& table, const Array1<int32_t>& ids, const Array1<int64_t>& offsets) {
    const int64_t sentences = int64_t(offsets.shape(0)) - 1, tokens = int64_t(ids.shape(0));
    require(sentences >= 0 && offsets(0) == 0 && offsets(size_t(sentences)) == tokens, "offsets do not fit the ids");
    for (int64_t s = 0; s < sentences; ++s) require(offsets(size_t(s)) <= offsets(size_t(s + 1)), "offsets fall");
    for (int64_t t = 0; t < tokens; ++t)
        require(ids(size_t(t)) >= DROPPED && ids(size_t(t)) <= table.words, "an id is no word");
    return {ids.data(), offsets.data(), sentences};
}

nb::tuple pool_words_py(const Table& table, const Pooling& pooling, const Array1<int32_t>& ids,
                        const Array1<int64_t>& offsets, const PySteps& steps, int threads) {
    const Batch batch = checked_batch(table, ids, offsets);
    const int64_t width = pooling.width(table.dim);
    require(steps.steps.empty() || steps.steps.front().in == width, "the first step does not fit the pooled rows");
    auto rows = empty<float>(batch.sentences, steps.steps.empty() ? width : steps.steps.back().out);
    auto known = empty<int32_t>(batch.sentences);
    {
        nb::gil_scoped_release released;
        pool_words(table, pooling, batch, steps.steps, threads, rows.data(), known.data());
    }
    return nb::make_tuple(nb::cast(rows), nb::cast(known));
}

const float* checked_weights(const Table& table, const std::optional<Array1<float>>& weights) {
    require(!weights || int64_t(weights->shape(0)) == table.words + 1, "one weight a word and one for the zero word");
    return weights ? weights->data() : nullptr;
}

nb::tuple pool_mean_py(const PyTable& table, std::optional<Array1<float>> weights, int divisor, bool scaled,
                       Array1<int32_t> ids, Array1<int64_t> offsets, const PySteps& steps, int threads) {
    require(divisor >= Pooling::TOKENS && divisor <= Pooling::ONE, "no such divisor");
    Pooling pooling{};
    pooling.kind = Pooling::MEAN;
    pooling.divisor = Pooling::Divisor(divisor);
    pooling.scaled = scaled;
    pooling.weights = checked_weights(table.table, weights);
    pooling.slots = 1;
    return pool_words_py(table.table, pooling, ids, offsets, steps, threads);
}

nb::tuple pool_dct_py(const PyTable& table, int64_t k, Array1<int32_t> ids, Array1<int64_t> offsets,
                      const PySteps& steps, int threads) {
    require(k >= 1, "at least one coefficient");
    Pooling pooling{};
    pooling.kind = Pooling::DCT;
    pooling.slots = k;
    return pool_words_py(table.table, pooling, ids, offsets, steps, threads);
}

Pooling clustered(Pooling::Kind kind, const Table& table, const std::optional<Array1<float>>& weights,
                  const Array1<int32_t>& labels, const Array2<float>& centroids) {
    Pooling pooling{};
    pooling.kind = kind;
    pooling.weights = checked_weights(table, weights);
    pooling.labels = labels.data();
    pooling.centroids = centroids.data();
    pooling.slots = int64_t(centroids.shape(0));
    require(pooling.slots >= 1 && int64_t(centroids.shape(1)) == table.dim, "centroids of the wrong shape");
    require(int64_t(labels.shape(0)) == table.words + 1, "one label a word and one for the zero word");
    for (size_t w = 0; w < labels.shape(0); ++w) require(labels(w) >= 0 && labels(w) < pooling.slots, "no such cluster");
    return pooling;
}

nb::tuple pool_vlawe_py(const PyTable& table, Array1<int32_t> labels, Array2<float> centroids, float power,
                        Array1<int32_t> ids, Array1<int64_t> offsets, const PySteps& steps, int threads) {
    Pooling pooling = clustered(Pooling::RESIDUALS, table.table, std::nullopt, labels, centroids);
    pooling.power = power;
    return pool_words_py(table.table, pooling, ids, offsets, steps, threads);
}

nb::tuple pool_s3e_py(const PyTable& table, std::optional<Array1<float>> weights, Array1<int32_t> labels,
                      Array2<float> centroids, bool average, bool published, Array1<int32_t> ids,
                      Array1<int64_t> offsets, const PySteps& steps, int threads) {
    Pooling pooling = clustered(Pooling::COVARIANCE, table.table, weights, labels, centroids);
    pooling.average = average;
    pooling.published = published;
    return pool_words_py(table.table, pooling, ids, offsets, steps, threads);
}

nb::tuple pool_gem_py(const PyTable& table, Array2<double> directions, Array1<double> values, int64_t window,
                      int64_t removed, Array1<int32_t> ids, Array1<int64_t> offsets, const PySteps& steps, int threads) {
    Pooling pooling{};
    pooling.kind = Pooling::GEM;
    pooling.directions = directions.data();
    pooling.values = values.data();
    pooling.slots = int64_t(directions.shape(0));
    pooling.window = window;
    pooling.removed = removed;
    require(int64_t(directions.shape(1)) == table.table.dim && values.shape(0) == directions.shape(0),
            "directions of the wrong shape");
    require(window >= 1 && removed >= 1 && removed <= pooling.slots, "no such window or number of directions");
    return pool_words_py(table.table, pooling, ids, offsets, steps, threads);
}

nb::object apply_steps_py(Array2<float> pooled, std::optional<Array1<int32_t>> known, const PySteps& steps, int threads) {
    const int64_t width = int64_t(pooled.shape(1));
    require(steps.steps.empty() || steps.steps.front().in == width, "the steps do not fit the rows");
    require(!known || known->shape(0) == pooled.shape(0), "one count a row");
    auto rows = empty<float>(pooled.shape(0), size_t(steps.steps.empty() ? width : steps.steps.back().out));
    {
        nb::gil_scoped_release released;
        apply_steps(pooled.data(), width, known ? known->data() : nullptr, int64_t(pooled.shape(0)), steps.steps,
                    threads, rows.data());
    }
    return nb::cast(rows);
}

// Changes source and target in place.
void train_py(nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu> source,
              nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu> target, Array1<float> keep,
              Array1<int32_t> noise, int64_t negatives, float rate, uint64_t seed, bool adjacent, bool itself,
              Array1<int32_t> ids, Array1<int64_t> offsets) {
    const int64_t words = int64_t(target.shape(0)), sentences = int64_t(offsets.shape(0)) - 1;
    require(source.shape(1) == target.shape(1) && source.shape(0) >= target.shape(0), "source does not fit target");
    require(int64_t(keep.shape(0)) == words && noise.shape(0) > 0, "keep or noise does not fit the words");
    for (size_t n = 0; n < noise.shape(0); ++n) require(noise(n) >= 0 && noise(n) < words, "noise is no word");
    for (size_t t = 0; t < ids.shape(0); ++t) require(ids(t) >= 0 && ids(t) < words, "an id is no word");
    require(sentences >= 0 && offsets(0) == 0 && offsets(size_t(sentences)) == int64_t(ids.shape(0)),
            "offsets do not fit the ids");
    for (int64_t s = 0; s < sentences; ++s) require(offsets(size_t(s)) <= offsets(size_t(s + 1)), "offsets fall");
    const Training training{source.data(), target.data(), keep.data(), noise.data(), int64_t(noise.shape(0)), words,
                            int64_t(source.shape(0)) - words, int64_t(target.shape(1)), negatives, rate, seed, adjacent,
                            itself};
    nb::gil_scoped_release released;
    train(training, ids.data(), offsets.data(), sentences);
}

// Slots of a vocabulary, and the row numbers whose word stood before.
nb::tuple build_slots_py(Array1<uint8_t> text, Array1<int64_t> bounds) {
    std::vector<int64_t> repeated;
    std::vector<uint64_t> slots;
    {
        nb::gil_scoped_release released;
        slots = build_slots(text.data(), bounds.data(), int64_t(bounds.shape(0)) - 1, &repeated);
    }
    return nb::make_tuple(numpy(std::move(slots)), numpy(std::move(repeated)));
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

// text, bounds, matrix (rows, dim), bad, rough, rough_at, passed: the fields of VectorRows.
nb::tuple python_rows(VectorRows&& rows, int64_t dim) {
    const size_t count = rows.bounds.size() - 1;
    float* memory = rows.matrix.release();
    nb::capsule owner(memory, [](void* p) noexcept { delete[] static_cast<float*>(p); });
    nb::ndarray<nb::numpy, float, nb::ndim<2>> matrix(memory, {count, size_t(dim)}, owner);
    return nb::make_tuple(numpy(std::move(rows.text)), numpy(std::move(rows.bounds)), nb::cast(matrix),
                          numpy(std::move(rows.bad)), numpy(std::move(rows.rough)), numpy(std::move(rows.rough_at)),
                          rows.passed);
}

nb::tuple parse_vectors_py(nb::bytes block, int64_t dim, int threads) {
    require(dim > 0, "dim must be positive");
    VectorRows rows;
    {
        nb::gil_scoped_release released;
        rows = parse_vectors(block.c_str(), block.size(), dim, threads);
    }
    return python_rows(std::move(rows), dim);
}

nb::tuple parse_records_py(nb::bytes block, int64_t dim, int64_t most) {
    require(dim > 0 && most >= 0, "dim must be positive");
    VectorRows rows;
    {
        nb::gil_scoped_release released;
        rows = parse_records(block.c_str(), block.size(), dim, most);
    }
    return python_rows(std::move(rows), dim);
}

nb::list format_rows_py(Array2<float> matrix, const std::string& separator, int threads) {
    std::vector<std::string> lines;
    {
        nb::gil_scoped_release released;
        lines = format_rows(matrix.data(), int64_t(matrix.shape(0)), int64_t(matrix.shape(1)), separator, threads);
    }
    nb::list out;
    for (const std::string& line : lines) out.append(nb::bytes(line.data(), line.size()));
    return out;
}

}  // namespace

NB_MODULE(_native, module) {
    nb::set_leak_warnings(false);  // encoders that live until the interpreter ends are no leak
    module.doc() = "The compiled half of noppa. Its NumPy twin is noppa.reference.";
    module.attr("REAL") = "float32";
    module.attr("POSITION_UNIT") = POSITION_UNIT;
    module.def("tokenize", &tokenize, "text"_a);
    module.def("first_other", &first_other, "items"_a);
    module.def("build_slots", &build_slots_py, "text"_a, "bounds"_a);
    module.def("instruction_set", [] { return kernels().name; });
    module.def("instruction_sets", [] {
        std::vector<std::string> names;
        for (const char* name : instruction_sets()) names.emplace_back(name);
        return names;
    });
    module.def("use_instruction_set", [](const std::string& name) { return use_instruction_set(name.c_str()); });
    nb::class_<PyTable>(module, "Table")
        .def(nb::init<AnyMatrix, std::optional<Scales>, std::vector<int64_t>>(), "matrix"_a, "scales"_a.none(),
             "blocks"_a = std::vector<int64_t>{});
    nb::class_<PyVocabulary>(module, "Vocabulary")
        .def(nb::init<Array1<uint8_t>, Array1<int64_t>, Array1<uint64_t>, int, int32_t, int64_t,
                      std::optional<Array1<uint64_t>>>(),
             "text"_a, "bounds"_a, "slots"_a, "letter_case"_a, "unknown"_a, "pieces"_a = 0,
             "piece_slots"_a = nb::none())
        .def("find", &PyVocabulary::find, "word"_a)
        .def("look_up", &PyVocabulary::look_up, "texts"_a, "threads"_a)
        .def("look_up_tokens", &PyVocabulary::look_up_tokens, "sentences"_a);
    nb::class_<PySteps>(module, "Steps").def(nb::init<nb::list>(), "steps"_a);
    module.def("pool_noppa", &pool_noppa_py, "table"_a, "weights"_a.none(), "positions"_a.none(), "kernel"_a,
               "attend_self"_a, "dropped_take_position"_a, "parts"_a, "ids"_a, "offsets"_a, "steps"_a,
               "threads"_a);
    module.def("pool_mean", &pool_mean_py, "table"_a, "weights"_a.none(), "divisor"_a, "scaled"_a, "ids"_a, "offsets"_a,
               "steps"_a, "threads"_a);
    module.def("pool_dct", &pool_dct_py, "table"_a, "k"_a, "ids"_a, "offsets"_a, "steps"_a, "threads"_a);
    module.def("pool_vlawe", &pool_vlawe_py, "table"_a, "labels"_a, "centroids"_a, "power"_a, "ids"_a, "offsets"_a,
               "steps"_a, "threads"_a);
    module.def("pool_s3e", &pool_s3e_py, "table"_a, "weights"_a.none(), "labels"_a, "centroids"_a, "average"_a,
               "published"_a, "ids"_a, "offsets"_a, "steps"_a, "threads"_a);
    module.def("pool_gem", &pool_gem_py, "table"_a, "directions"_a, "values"_a, "window"_a, "removed"_a, "ids"_a,
               "offsets"_a, "steps"_a, "threads"_a);
    module.def("train", &train_py, "source"_a, "target"_a, "keep"_a, "noise"_a, "negatives"_a, "rate"_a, "seed"_a,
               "adjacent"_a, "itself"_a, "ids"_a, "offsets"_a);
    module.def("apply_steps", &apply_steps_py, "pooled"_a, "known"_a.none(), "steps"_a, "threads"_a);
    module.def("parse_vectors", &parse_vectors_py, "block"_a, "dim"_a, "threads"_a);
    module.def("parse_records", &parse_records_py, "block"_a, "dim"_a, "most"_a);
    module.def("format_rows", &format_rows_py, "matrix"_a, "separator"_a, "threads"_a);
}
