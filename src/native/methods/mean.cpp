// Average, TF-IDF, SIF, uSIF and the trained peers: one weighted sum.
#include "pooling/known_words.hpp"
#include "pooling/sums.hpp"
#include "pooling/word_sums.hpp"

namespace noppa {
namespace {

struct Scratch {
    float *weights, *vector;
    double* squares;
    SumScratch sum;
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

    Scratch lay_out(Memory& memory, int64_t tokens) const {
        return {memory.take<float>(tokens), memory.take<float>(scaled ? table.dim : 0),
                memory.take<double>(scaled ? table.dim : 0), lay_out_sum(table, tokens, memory)};
    }

    void fill(Scratch& s, const int32_t* ids, int64_t tokens, float* row) const {
        double weight_sum = 0;
        for (int64_t t = 0; t < tokens; ++t) weight_sum += weight_of(weights, ids[t]);
        const double amount = divisor == DIVISOR_TOKENS    ? double(tokens)
                              : divisor == DIVISOR_WEIGHTS ? weight_sum
                                                           : 1.0;
        const double scale = amount > 0 ? 1.0 / amount : 0.0;
        for (int64_t t = 0; t < tokens; ++t) s.weights[t] = float(scale * weight_of(weights, ids[t]));
        sum_words(table, ids, s.weights, tokens, s.sum, row);
        if (scaled) divide_by_norms(s, ids, tokens, row);
    }

  private:
    void divide_by_norms(Scratch& s, const int32_t* ids, int64_t tokens, float* row) const {
        clear(s.squares, table.dim);
        for (int64_t t = 0; t < tokens; ++t) {
            read_row(table, ids[t], s.vector);
            for (int64_t m = 0; m < table.dim; ++m) s.squares[m] += double(s.vector[m]) * double(s.vector[m]);
        }
        for (int64_t m = 0; m < table.dim; ++m) {
            const double norm = __builtin_sqrt(s.squares[m]);
            row[m] = norm > 0 ? float(double(row[m]) / norm) : 0.0f;
        }
    }
};

}  // namespace
}  // namespace noppa

NOPPA_METHOD(Mean)
