// Refinement steps as Python hands them over, checked, with the arrays that they point into.
#pragma once

#include "binding/arrays.hpp"
#include "refine/steps.hpp"

namespace noppa::binding {

// Steps as tuples ("remove", left, right, bias), ("map", matrix, bias), ("normalise", width). An array that had
// to be converted lives only here.
struct PySteps {
    std::vector<Array2<float>> matrices;
    std::vector<Array1<float>> biases;
    std::vector<Step> steps;

    explicit PySteps(nb::list described) {
        for (nb::handle item : described) {
            const nb::tuple parts = nb::cast<nb::tuple>(item);
            const std::string name = parts.size() ? nb::cast<std::string>(parts[0]) : "";
            const auto is = [&](int64_t kind, size_t size) { return name == STEP_NAMES[kind] && parts.size() == size; };
            const bool is_remove = is(STEP_REMOVE, 4), is_map = is(STEP_MAP, 3);
            require(is_remove || is_map || is(STEP_NORMALISE, 2), "no such step");
            const Step step = is_remove ? remove(parts) : is_map ? map(parts) : normalize(parts);
            require(steps.empty() || steps.back().out == step.in, "a step does not fit the one before it");
            steps.push_back(step);
        }
    }

    bool take(int64_t width) const { return steps.empty() || steps.front().in == width; }
    int64_t width_after(int64_t width) const { return steps.empty() ? width : steps.back().out; }

  private:
    static int64_t width_of(int64_t size) { return checked_size(size, "a step of too many columns"); }

    const Array2<float>& matrix(nb::handle item) {
        matrices.push_back(nb::cast<Array2<float>>(item));
        return matrices.back();
    }
    const float* bias(nb::handle item, size_t length) {
        biases.push_back(nb::cast<Array1<float>>(item));
        require(biases.back().shape(0) == length, "bias of the wrong length");
        return biases.back().data();
    }

    static Step normalize(const nb::tuple& parts) {
        const int64_t width = width_of(nb::cast<int64_t>(parts[1]));
        return {STEP_NORMALISE, nullptr, nullptr, nullptr, 0, width, width};
    }
    Step map(const nb::tuple& parts) {
        const auto left = matrix(parts[1]);
        const int64_t in = width_of(int64_t(left.shape(0))), out = width_of(int64_t(left.shape(1)));
        return {STEP_MAP, left.data(), nullptr, bias(parts[2], left.shape(1)), 0, in, out};
    }
    Step remove(const nb::tuple& parts) {
        const auto left = matrix(parts[1]), right = matrix(parts[2]);
        require(right.shape(0) == left.shape(0) && right.shape(1) == left.shape(1), "right differs from left");
        const int64_t count = width_of(int64_t(left.shape(0))), width = width_of(int64_t(left.shape(1)));
        return {STEP_REMOVE, left.data(), right.data(), bias(parts[3], left.shape(0)), count, width, width};
    }
};

}  // namespace noppa::binding
