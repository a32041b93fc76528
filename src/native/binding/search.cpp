// Search over stored rows.
#include <algorithm>
#include <functional>
#include "binding/arrays.hpp"
#include "binding/table.hpp"
#include "binding/topics.hpp"
#include "search/nearest.hpp"

namespace noppa::binding {
namespace {

// The sum of so many products of two codes fits into int32.
constexpr int64_t MOST_CODED = 1 << 16;

void check_rows(const Array1<int32_t>& rows, int64_t limit) {
    for (size_t at = 0; at < rows.shape(0); ++at)
        require(rows(at) >= 0 && rows(at) < limit, "a row number is not in the table");
}

// Numbers and scores (queries, found): NaN aside, every query finds as many.
nb::tuple nearest_rows_py(const PyTable& table, std::optional<Array1<int32_t>> rows,
                          std::optional<Array1<uint8_t>> allowed, std::optional<Array2<float>> bonus,
                          Array2<float> queries, int64_t count, int threads) {
    const int64_t words = table.table.words, query_count = int64_t(queries.shape(0));
    require(int64_t(queries.shape(1)) == table.table.dim, "the queries do not fit the table");
    require(!allowed || int64_t(allowed->shape(0)) == words, "one flag a row");
    require(!bonus || (int64_t(bonus->shape(0)) == query_count && int64_t(bonus->shape(1)) == words),
            "one bonus a query and row");
    require(count > 0 && threads > 0, "count and threads must be positive");
    if (rows) check_rows(*rows, words);
    const Searched searched{table.table,
                            rows ? rows->data() : nullptr,
                            allowed ? allowed->data() : nullptr,
                            bonus ? bonus->data() : nullptr,
                            queries.data(),
                            rows ? int64_t(rows->shape(0)) : words,
                            query_count};
    std::vector<std::vector<Scored>> found;
    {
        nb::gil_scoped_release released;
        found = nearest_rows(searched, count, threads);
    }
    size_t most = found.empty() ? 0 : found[0].size();
    for (const auto& list : found) most = std::min(most, list.size());
    const NewArray<int64_t> numbers(query_count, int64_t(most));
    const NewArray<float> scores(query_count, int64_t(most));
    for (size_t q = 0; q < found.size(); ++q)
        for (size_t at = 0; at < most; ++at) {
            numbers.data()[q * most + at] = found[q][at].row;
            scores.data()[q * most + at] = found[q][at].score;
        }
    return nb::make_tuple(numbers.object(), scores.object());
}

// The rows (found,), best first.
nb::object nearest_codes_py(Array2<int8_t> codes, Array1<float> scales, Array1<int32_t> rows,
                            std::optional<Array1<uint8_t>> allowed, Array1<int64_t> starts, Array1<int64_t> stops,
                            Array1<float> query, int64_t count, int threads) {
    const int64_t places = int64_t(codes.shape(0)), dim = int64_t(codes.shape(1));
    require(int64_t(scales.shape(0)) == places && int64_t(rows.shape(0)) == places, "one scale and row a place");
    require(int64_t(query.shape(0)) == dim && dim >= 1 && dim <= MOST_CODED, "the query does not fit the codes");
    require(!allowed || int64_t(allowed->shape(0)) == places, "one flag a row");
    require(starts.shape(0) == stops.shape(0), "a start and a stop for each cell");
    require(count > 0 && threads > 0, "count and threads must be positive");
    for (size_t c = 0; c < starts.shape(0); ++c) {
        require(starts(c) >= 0 && starts(c) <= stops(c) && stops(c) <= places, "a cell leaves the codes");
        for (int64_t at = starts(c); allowed && at < stops(c); ++at)
            require(rows(size_t(at)) >= 0 && rows(size_t(at)) < places, "a row number is not in the table");
    }
    const CodedCells searched{codes.data(),
                              scales.data(),
                              rows.data(),
                              allowed ? allowed->data() : nullptr,
                              starts.data(),
                              stops.data(),
                              int64_t(starts.shape(0)),
                              dim};
    std::vector<Scored> found;
    {
        nb::gil_scoped_release released;
        found = nearest_codes(searched, query.data(), count, threads);
    }
    std::vector<int32_t> numbers(found.size());
    for (size_t at = 0; at < found.size(); ++at) numbers[at] = int32_t(found[at].row);
    return numpy(numbers);
}

// Changes scores in place, which is why they may be no converted copy.
void add_term_py(nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu> scores, Array1<int32_t> rows,
                 Array1<uint16_t> counts, Array1<uint32_t> lengths, float weight, float flat, float sloped,
                 int threads) {
    require(rows.shape(0) == counts.shape(0) && scores.shape(0) == lengths.shape(0), "arrays of other lengths");
    require(threads > 0, "threads must be positive");
    check_rows(rows, int64_t(scores.shape(0)));
    // Those of a damaged file may be there twice: then threads would share a score.
    const int32_t* last = rows.data() + rows.shape(0);
    if (std::adjacent_find(rows.data(), last, std::greater_equal<int32_t>()) != last) threads = 1;
    nb::gil_scoped_release released;
    add_term(scores.data(), rows.data(), counts.data(), int64_t(rows.shape(0)), lengths.data(), weight, flat, sloped,
             threads);
}

}  // namespace

void bind_search(nb::module_& module) {
    module.def("nearest_rows", &nearest_rows_py, "table"_a, "rows"_a.none(), "allowed"_a.none(), "bonus"_a.none(),
               "queries"_a, "count"_a, "threads"_a);
    module.def("nearest_codes", &nearest_codes_py, "codes"_a, "scales"_a, "rows"_a, "allowed"_a.none(), "starts"_a,
               "stops"_a, "query"_a, "count"_a, "threads"_a);
    module.def("add_term", &add_term_py, "scores"_a.noconvert(), "rows"_a, "counts"_a, "lengths"_a, "weight"_a,
               "flat"_a, "sloped"_a, "threads"_a);
}

}  // namespace noppa::binding
