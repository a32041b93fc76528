// Average, TF-IDF, SIF, uSIF and the trained peers: one weighted sum.
#include "pooling/known_words.hpp"
#include "pooling/sums.hpp"

namespace noppa {
namespace {

struct Scratch {
    float* units;
    double *weights, *sums, *squares;
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
        const int64_t room = table.dim + BLOCK;  // sums are written as whole vectors
        return {memory.take<float>(tokens), memory.take<double>(tokens), memory.take<double>(room),
                memory.take<double>(scaled ? room : 0)};
    }

    void fill(Scratch& s, const int32_t* ids, int64_t tokens, float* row) const {
        const int64_t dim = table.dim;
        double weight_sum = 0;
        for (int64_t t = 0; t < tokens; ++t) weight_sum += s.weights[t] = weight_of(weights, ids[t]);
        add_up(s, ids, tokens, s.sums, [&](int64_t t, vd value) { return s.weights[t] * value; });
        if (scaled) add_up(s, ids, tokens, s.squares, [](int64_t, vd value) { return value * value; });
        const double amount = divisor == DIVISOR_TOKENS    ? double(tokens)
                              : divisor == DIVISOR_WEIGHTS ? weight_sum
                                                           : 1.0;
        const double scale = amount > 0 ? 1.0 / amount : 0.0;
        for (int64_t m = 0; !scaled && m < dim; ++m) row[m] = float(s.sums[m] * scale);
        for (int64_t m = 0; scaled && m < dim; ++m) {
            const double norm = __builtin_sqrt(s.squares[m]);
            row[m] = norm > 0 ? float(s.sums[m] * scale / norm) : 0.0f;
        }
    }

  private:
    // The sum of term(t, values of word t) over the words. Columns are the outer loop, so that it stays in registers.
    template <class Term>
    void add_up(Scratch& s, const int32_t* ids, int64_t tokens, double* sums, Term term) const {
        read_columns(table, ids, tokens, s.units, [&](int64_t column, int64_t, auto read) {
            vd total[4] = {};
            for (int64_t t = 0; t < tokens; ++t) {
                vf values[2];
                read(t, values);
                for (int v = 0; v < 2; ++v) {
                    vd halves[2];
                    widen(values[v], halves);
                    for (int half = 0; half < 2; ++half) total[2 * v + half] += term(t, halves[half]);
                }
            }
            __builtin_memcpy(sums + column, total, sizeof total);
        });
    }
};

}  // namespace
}  // namespace noppa

NOPPA_METHOD(Mean)
