#include "training.hpp"

#include <cmath>
#include <vector>

#include "kernel_constants.hpp"

namespace noppa {
namespace {

// splitmix64, which the oracle can repeat.
struct Random {
    uint64_t state;
    uint64_t next() {
        uint64_t z = state += SPLITMIX_STEP;
        z = (z ^ (z >> 30)) * SPLITMIX_FACTORS[0];
        z = (z ^ (z >> 27)) * SPLITMIX_FACTORS[1];
        return z ^ (z >> 31);
    }
    double share() { return double(next() >> 11) * 0x1p-53; }
};

float dot(const float* a, const float* b, int64_t dim) {
    float lanes[8] = {};
    int64_t m = 0;
    for (; m + 8 <= dim; m += 8)
        for (int lane = 0; lane < 8; ++lane) lanes[lane] += a[m + lane] * b[m + lane];
    float total = 0;
    for (; m < dim; ++m) total += a[m] * b[m];
    for (float lane : lanes) total += lane;
    return total;
}

void add(float* to, const float* from, float factor, int64_t dim) {
    for (int64_t m = 0; m < dim; ++m) to[m] += factor * from[m];
}

class Trainer {
  public:
    explicit Trainer(const Training& t) : t_(t), random_{t.seed}, context_(size_t(t.dim)), gradient_(size_t(t.dim)) {}

    // The context predicts one word and not `negatives` others; gradients for the context add up.
    void predict(int32_t word) {
        for (int64_t sample = 0; sample <= t_.negatives; ++sample) {
            int32_t other = word;
            if (sample) {
                other = t_.noise[random_.next() % uint64_t(t_.noises)];
                if (other == word) continue;
            }
            float* target = t_.target + int64_t(other) * t_.dim;
            const double score = 1.0 / (1.0 + std::exp(-double(dot(context_.data(), target, t_.dim))));
            const float step = t_.rate * float((sample ? 0.0 : 1.0) - score);
            add(gradient_.data(), target, step, t_.dim);
            add(target, context_.data(), step, t_.dim);
        }
    }
    bool is_sampled(int32_t word) { return random_.share() < double(t_.keep[word]); }

    void sum_of(const int32_t* features, int64_t count, float scale) {
        clear();
        for (int64_t f = 0; f < count; ++f)
            add(context_.data(), t_.source + int64_t(features[f]) * t_.dim, scale, t_.dim);
    }
    void learn(const int32_t* features, int64_t count, float scale) {
        for (int64_t f = 0; f < count; ++f)
            add(t_.source + int64_t(features[f]) * t_.dim, gradient_.data(), scale, t_.dim);
    }

  private:
    void clear() {
        for (float& value : context_) value = 0;
        for (float& value : gradient_) value = 0;
    }
    const Training& t_;
    Random random_;
    std::vector<float> context_, gradient_;
};

}  // namespace

void train(const Training& t, const int32_t* ids, const int64_t* offsets, int64_t sentences) {
    Trainer trainer(t);
    std::vector<int32_t> pairs, others;
    for (int64_t s = 0; s < sentences; ++s) {
        const int32_t* words = ids + offsets[s];
        const int64_t count = offsets[s + 1] - offsets[s];
        if (t.adjacent) {
            trainer.sum_of(words, count, 1.0f);
            for (int64_t near = s > 0 ? s - 1 : 0; near <= s + 1 && near < sentences; ++near)
                if (near != s || t.itself)
                    for (int64_t at = offsets[near]; at < offsets[near + 1]; ++at)
                        if (trainer.is_sampled(ids[at])) trainer.predict(ids[at]);
            trainer.learn(words, count, 1.0f);
            continue;
        }
        pairs.clear();
        for (int64_t at = 0; t.buckets && at + 1 < count; ++at) {
            const uint64_t pair = uint64_t(words[at]) * uint64_t(PAIR_FACTOR) + uint64_t(words[at + 1]);
            pairs.push_back(int32_t(t.words + int64_t(pair % uint64_t(t.buckets))));
        }
        if (count < 2) continue;
        for (int64_t at = 0; at < count; ++at) {
            if (!trainer.is_sampled(words[at])) continue;
            // The word to predict is in none of the others: neither itself nor a pair that it is part of.
            others.assign(words, words + at);
            others.insert(others.end(), words + at + 1, words + count);
            for (int64_t pair = 0; pair < int64_t(pairs.size()); ++pair)
                if (pair != at && pair + 1 != at) others.push_back(pairs[size_t(pair)]);
            const int64_t size = int64_t(others.size());
            trainer.sum_of(others.data(), size, 1.0f / float(size));
            trainer.predict(words[at]);
            trainer.learn(others.data(), size, 1.0f / float(size));
        }
    }
}

}  // namespace noppa
