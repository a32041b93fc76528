// VLAWE: the residual sum of each cluster, raised to a power with its sign kept, then scaled to length one, or left so.
#include "methods/clusters.hpp"

namespace noppa {
namespace {

struct Scratch {
    float* vector;
    double* sums;  // (clusters, dim)
};

struct Vlawe final : OfKnownWords<Vlawe> {
    Clusters clusters;
    float power;
    bool unit;

    Vlawe(const Table& table, const Arguments& arguments) : Vlawe(table, arguments, Clusters(table, arguments)) {}
    Vlawe(const Table& table, const Arguments& arguments, const Clusters& clusters)
        : OfKnownWords(table, times(clusters.count, table.dim)),
          clusters(clusters),
          power(float(arguments.number("power"))),
          unit(arguments.flag("unit")) {}

    double cost(double tokens) const override {
        return 0.3 * double(table.dim) * (tokens + double(clusters.count) * double(clusters.count));
    }

    Scratch lay_out(Memory& memory, int64_t) const {
        return {memory.take<float>(table.dim), memory.take<double>(times(clusters.count, table.dim))};
    }

    void fill(Scratch& s, const int32_t* ids, int64_t tokens, float* row) const {
        clear(s.sums, width);
        for (int64_t t = 0; t < tokens; ++t) {
            read_row(table, ids[t], s.vector);
            add_residual(clusters, ids[t], s.vector, table.dim, 1.0, 1.0, s.sums);
        }
        if (power == 0.5f)
            for (int64_t m = 0; m < width; ++m)
                s.sums[m] = __builtin_copysign(__builtin_sqrt(__builtin_fabs(s.sums[m])), s.sums[m]);
        else
            for (int64_t m = 0; m < width; ++m)
                s.sums[m] = __builtin_copysign(__builtin_pow(__builtin_fabs(s.sums[m]), double(power)), s.sums[m]);
        if (unit) return write_unit(s.sums, width, row);
        for (int64_t m = 0; m < width; ++m) row[m] = float(s.sums[m]);
    }
};

}  // namespace
}  // namespace noppa

NOPPA_METHOD(Vlawe)
