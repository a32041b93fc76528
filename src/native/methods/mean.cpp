// Average, TF-IDF, SIF, uSIF and the trained peers: one weighted sum.
#include "pooling/known_words.hpp"
#include "pooling/sums.hpp"

namespace noppa {
namespace {

struct Scratch {
    float* vector;
    double *sums, *squares;
};

struct Mean final : OfKnownWords<Mean> {
    const float* weights;
    int64_t divisor;
    bool scaled;  // each dimension over its norm across the sentence's words (uSIF's program)

    Mean(const Table& table, const Arguments& arguments)
        : OfKnownWords(table, table.dim),
          weights(weights_of(table, arguments)),
          divisor(arguments.integer("divisor", DIVISOR_TOKENS, DIVISOR_ONE)),
          scaled(arguments.flag("scaled")) {}

    Scratch lay_out(Memory& memory, int64_t) const {
        return {memory.take<float>(table.dim), memory.take<double>(table.dim), memory.take<double>(table.dim)};
    }

    void fill(Scratch& s, const int32_t* ids, int64_t tokens, float* row) const {
        const int64_t dim = table.dim;
        clear(s.sums, dim);
        clear(s.squares, dim);
        double weight_sum = 0;
        for (int64_t t = 0; t < tokens; ++t) {
            read_row(table, ids[t], s.vector);
            const double weight = weight_of(weights, ids[t]);
            weight_sum += weight;
            for (int64_t m = 0; m < dim; ++m) s.sums[m] += weight * double(s.vector[m]);
            if (scaled)
                for (int64_t m = 0; m < dim; ++m) s.squares[m] += double(s.vector[m]) * double(s.vector[m]);
        }
        const double amount = divisor == DIVISOR_TOKENS    ? double(tokens)
                              : divisor == DIVISOR_WEIGHTS ? weight_sum
                                                           : 1.0;
        const double scale = amount > 0 ? 1.0 / amount : 0.0;
        for (int64_t m = 0; m < dim; ++m) {
            const double norm = scaled ? __builtin_sqrt(s.squares[m]) : 1.0;
            row[m] = norm > 0 ? float(s.sums[m] * scale / norm) : 0.0f;
        }
    }
};

}  // namespace
}  // namespace noppa

NOPPA_METHOD(Mean)
