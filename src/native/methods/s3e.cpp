// S3E: the covariance of the clusters' residual sums over the dimensions, as its upper triangle of length one.
#include "methods/clusters.hpp"

namespace noppa {
namespace {

struct Scratch {
    float* vector;
    double* sums;      // (clusters, dim)
    double* average;   // (dim,)
    double* triangle;  // (clusters · (clusters + 1) / 2,)
    bool* filled;      // (clusters,): whether any word is in it
};

int64_t cells(int64_t clusters) { return times(clusters, clusters + 1) / 2; }

struct S3e final : OfKnownWords<S3e> {
    const float* weights;
    Clusters clusters;
    bool average;    // the weighted average comes before the triangle
    bool published;  // as in the authors' program: each word once, and w v - c in place of w (v - c)

    S3e(const Table& table, const Arguments& arguments)
        : S3e(table, arguments, Clusters(table, arguments), arguments.flag("average")) {}
    S3e(const Table& table, const Arguments& arguments, const Clusters& clusters, bool average)
        : OfKnownWords(table, (average ? table.dim : 0) + cells(clusters.count)),
          weights(weights_of(table, arguments)),
          clusters(clusters),
          average(average),
          published(arguments.flag("published")) {}

    double cost(double tokens) const override {
        return 0.3 * double(table.dim) * (tokens + double(clusters.count) * double(clusters.count));
    }

    Scratch lay_out(Memory& memory, int64_t) const {
        return {memory.take<float>(table.dim), memory.take<double>(times(clusters.count, table.dim)),
                memory.take<double>(table.dim), memory.take<double>(cells(clusters.count)),
                memory.take<bool>(clusters.count)};
    }

    // The sums of each cluster and the average's; returns how many words were counted.
    int64_t add_up(Scratch& s, const int32_t* ids, int64_t tokens) const {
        const int64_t dim = table.dim;
        clear(s.sums, clusters.count * dim);
        clear(s.average, dim);
        int64_t counted = 0;
        for (int64_t t = 0; t < tokens; ++t) {
            bool repeated = false;
            if (published)
                for (int64_t before = 0; before < t && !repeated; ++before) repeated = ids[before] == ids[t];
            if (repeated) continue;
            ++counted;
            read_row(table, ids[t], s.vector);
            const double weight = weight_of(weights, ids[t]);
            add_residual(clusters, ids[t], s.vector, dim, weight, published ? 1.0 : weight, s.sums);
            if (average)
                for (int64_t m = 0; m < dim; ++m) s.average[m] += weight * double(s.vector[m]);
        }
        return counted;
    }

    void fill(Scratch& s, const int32_t* ids, int64_t tokens, float* row) const {
        const int64_t dim = table.dim, count = clusters.count, counted = add_up(s, ids, tokens);
        if (average)
            for (int64_t m = 0; m < dim; ++m) *row++ = float(s.average[m] / double(counted));
        for (int64_t k = 0; k < count; ++k) s.filled[k] = false;
        for (int64_t t = 0; t < tokens; ++t) s.filled[clusters.labels[ids[t]]] = true;
        for (int64_t k = 0; k < count; ++k) {
            if (!s.filled[k]) continue;
            double* sum = s.sums + k * dim;
            const double middle = total(sum, dim) / double(dim);
            for (int64_t m = 0; m < dim; ++m) sum[m] -= middle;
        }
        int64_t cell = 0;
        for (int64_t i = 0; i < count; ++i)
            for (int64_t j = i; j < count; ++j) {
                const bool both = s.filled[i] && s.filled[j];
                const double product = both ? dot(s.sums + i * dim, s.sums + j * dim, dim) : 0.0;
                s.triangle[cell++] = i == j ? product : __builtin_sqrt(2.0) * product;
            }
        write_unit(s.triangle, cell, row);
    }
};

}  // namespace
}  // namespace noppa

NOPPA_METHOD(S3e)
