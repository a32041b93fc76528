// What Python sees, a file a topic.
#pragma once

#include <nanobind/nanobind.h>

namespace noppa::binding {

void bind_character_ngrams(nanobind::module_& module);
void bind_text(nanobind::module_& module);
void bind_network_steps(nanobind::module_& module);
void bind_pooling(nanobind::module_& module);
void bind_search(nanobind::module_& module);
void bind_sparse(nanobind::module_& module);
void bind_training(nanobind::module_& module);
void bind_duplicates(nanobind::module_& module);
void bind_vector_text(nanobind::module_& module);

}  // namespace noppa::binding
