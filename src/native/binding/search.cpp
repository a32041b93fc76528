// Search over stored rows.
#include "binding/arrays.hpp"
#include "binding/table.hpp"
#include "binding/topics.hpp"
#include "search/nearest.hpp"

namespace noppa::binding {
namespace {

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
    auto numbers = empty<int64_t>(query_count, int64_t(most));
    auto scores = empty<float>(query_count, int64_t(most));
    for (size_t q = 0; q < found.size(); ++q)
        for (size_t at = 0; at < most; ++at) {
            numbers.data()[q * most + at] = found[q][at].row;
            scores.data()[q * most + at] = found[q][at].score;
        }
    return nb::make_tuple(nb::cast(numbers), nb::cast(scores));
}

// Changes scores in place, which is why they may be no converted copy.
void add_term_py(nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu> scores, Array1<int32_t> rows,
                 Array1<uint16_t> counts, Array1<uint32_t> lengths, float weight, float flat, float sloped) {
    require(rows.shape(0) == counts.shape(0) && scores.shape(0) == lengths.shape(0), "arrays of other lengths");
    check_rows(rows, int64_t(scores.shape(0)));
    nb::gil_scoped_release released;
    add_term(scores.data(), rows.data(), counts.data(), int64_t(rows.shape(0)), lengths.data(), weight, flat, sloped);
}

}  // namespace

void bind_search(nb::module_& module) {
    module.def("nearest_rows", &nearest_rows_py, "table"_a, "rows"_a.none(), "allowed"_a.none(), "bonus"_a.none(),
               "queries"_a, "count"_a, "threads"_a);
    module.def("add_term", &add_term_py, "scores"_a.noconvert(), "rows"_a, "counts"_a, "lengths"_a, "weight"_a,
               "flat"_a, "sloped"_a);
}

}  // namespace noppa::binding
