// fastText's dictionary and n-grams.
#include "character_ngrams.hpp"

#include "binding/arrays.hpp"
#include "binding/topics.hpp"

namespace noppa::binding {
namespace {

nb::tuple parse_entries_py(Array1<uint8_t> data, int64_t start, int64_t count) {
    DictionaryEntries entries;
    {
        nb::gil_scoped_release released;
        entries = parse_entries(data.data(), int64_t(data.shape(0)), start, count);
    }
    return nb::make_tuple(numpy(entries.text), numpy(entries.bounds), numpy(entries.counts), entries.end);
}

nb::tuple ngram_buckets_py(Array1<uint8_t> text, Array1<int64_t> bounds, int64_t shortest, int64_t longest,
                           int64_t buckets) {
    require(buckets > 0 && buckets <= WIDEST, "buckets must be positive and fit 31 bits");
    const int64_t words = checked_offsets(bounds, int64_t(text.shape(0))).sentences;
    NgramBuckets found;
    {
        nb::gil_scoped_release released;
        found = ngram_buckets(text.data(), bounds.data(), words, shortest, longest, uint32_t(buckets));
    }
    return nb::make_tuple(numpy(found.buckets), numpy(found.offsets));
}

// Rows (rows, dim) of float32 lie in `data` from byte `start` on.
nb::object mean_rows_py(Array1<uint8_t> data, int64_t start, int64_t rows, int64_t dim, Array1<int32_t> ids,
                        Array1<int64_t> offsets, int threads) {
    require(start >= 0 && rows >= 0 && dim > 0 && dim <= WIDEST, "sizes must not be negative");
    const int64_t room = int64_t(data.shape(0)) - start, bytes = times(times(rows, dim), 4);
    require(room >= 0 && bytes < TOO_MANY && bytes <= room, "the rows do not fit the data");
    const int64_t words = checked_offsets(offsets, int64_t(ids.shape(0))).sentences;
    for (size_t at = 0; at < ids.shape(0); ++at) require(ids(at) >= 0 && ids(at) < rows, "an id outside the rows");
    const NewArray<float> out(words, dim);
    {
        nb::gil_scoped_release released;
        mean_rows(data.data() + start, dim, ids.data(), offsets.data(), words, out.data(), threads);
    }
    return out.object();
}

}  // namespace

void bind_character_ngrams(nb::module_& module) {
    module.def("parse_entries", &parse_entries_py, "data"_a, "start"_a, "count"_a);
    module.def("ngram_buckets", &ngram_buckets_py, "text"_a, "bounds"_a, "shortest"_a, "longest"_a, "buckets"_a);
    module.def("mean_rows", &mean_rows_py, "data"_a, "start"_a, "rows"_a, "dim"_a, "ids"_a, "offsets"_a, "threads"_a);
}

}  // namespace noppa::binding
