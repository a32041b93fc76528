// The instruction sets that the hot loops were compiled for, and the one in use.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "duplicates/codes.hpp"
#include "network_steps.hpp"
#include "pooling/arguments.hpp"
#include "pooling/method.hpp"
#include "refine/steps.hpp"
#include "search/dots.hpp"

namespace noppa {

using MakeMethod = Method*(const Table&, const Arguments&);

struct InstructionSet {
    const char* name;
    bool (*runs_here)();
    ApplyStep* apply_step;
    DotRows* dot_rows;
    NetworkSteps* network_steps;
    const CodeKernels* code_kernels;
    MakeMethod* const* makers;  // in the order of method_names()
};

// The slowest first.
const std::vector<InstructionSet>& compiled_sets();
// Those that this processor can run.
std::vector<const char*> instruction_sets();
// The place of the set in use among compiled_sets(): the fastest that runs here, unless another was chosen.
size_t live_set();
// False if there is no such set or the processor cannot run it.
bool use_instruction_set(const std::string& name);

// The files of methods/, sorted.
const std::vector<std::string>& method_names();

}  // namespace noppa
