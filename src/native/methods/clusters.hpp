// Words in clusters, for the methods that add up how far words lie from the centroid of their cluster.
#pragma once

#include "pooling/known_words.hpp"
#include "pooling/sums.hpp"

namespace {

struct Clusters {
    const int32_t* labels;   // (words + 1,): the cluster of each word and of the zero word
    const float* centroids;  // (count, dim)
    int64_t count;

    Clusters(const noppa::Table& table, const noppa::Arguments& arguments) {
        const auto matrix = arguments.float_matrix("centroids", noppa::Arguments::ANY, table.dim);
        if (matrix.rows < 1) arguments.refuse("centroids", "must have at least one row");
        centroids = matrix.values;
        count = matrix.rows;
        labels = arguments.indices("labels", table.words + 1, count).values;
    }
};

// Adds the residual of a word to the sum of its cluster, sums (count, dim): weight · vector - centre · centroid.
inline void add_residual(const Clusters& clusters, int32_t id, const float* vector, int64_t dim, double weight,
                         double centre, double* sums) {
    const int64_t slot = clusters.labels[id];
    double* sum = sums + slot * dim;
    const float* centroid = clusters.centroids + slot * dim;
    for (int64_t m = 0; m < dim; ++m) sum[m] += weight * double(vector[m]) - centre * double(centroid[m]);
}

// Scales values to length one and writes them as float32; zeros stay zeros.
inline void write_unit(const double* values, int64_t count, float* out) {
    const double square = dot(values, values, count);
    const double scale = square > 0 ? 1.0 / __builtin_sqrt(square) : 0.0;
    for (int64_t m = 0; m < count; ++m) out[m] = float(values[m] * scale);
}

}  // namespace
