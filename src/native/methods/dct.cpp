// The first k coefficients of the orthonormal DCT-II over the words; a sentence shorter than that is padded with zeros.
#include "pooling/known_words.hpp"
#include "pooling/sums.hpp"

namespace noppa {
namespace {

struct Scratch {
    float* vector;
    double* sums;  // (k, dim)
};

struct Dct final : OfKnownWords<Dct> {
    int64_t coefficients;

    Dct(const Table& table, const Arguments& arguments)
        : OfKnownWords(table, times(arguments.integer("k", 1, WIDEST), table.dim)),
          coefficients(arguments.integer("k", 1, WIDEST)) {}

    double cost(double tokens) const override { return 0.3 * double(table.dim) * tokens * double(coefficients); }

    Scratch lay_out(Memory& memory, int64_t) const {
        return {memory.take<float>(table.dim), memory.take<double>(times(coefficients, table.dim))};
    }

    void fill(Scratch& s, const int32_t* ids, int64_t tokens, float* row) const {
        const int64_t dim = table.dim, length = tokens > coefficients ? tokens : coefficients;
        clear(s.sums, coefficients * dim);
        for (int64_t t = 0; t < tokens; ++t) {
            read_row(table, ids[t], s.vector);
            for (int64_t k = 0; k < coefficients; ++k) {
                const double scale = __builtin_sqrt((k ? 2.0 : 1.0) / double(length));
                const double wave = scale * __builtin_cos(PI * double((2 * t + 1) * k) / double(2 * length));
                double* sum = s.sums + k * dim;
                for (int64_t m = 0; m < dim; ++m) sum[m] += wave * double(s.vector[m]);
            }
        }
        for (int64_t m = 0; m < coefficients * dim; ++m) row[m] = float(s.sums[m]);
    }
};

}  // namespace
}  // namespace noppa

NOPPA_METHOD(Dct)
