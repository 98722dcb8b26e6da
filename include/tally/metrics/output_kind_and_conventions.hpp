// SPDX-License-Identifier: Apache-2.0
// Defines the values of `--outputs` and `--definitions`: what a model's outputs are, and by whose
// definitions metrics are computed where packages differ.
#pragma once

#include <string_view>

namespace tally::metrics {

// `classes`: no scores, only what is predicted, as saved predictions may have it.
enum class OutputKind { logits, log_probabilities, probabilities, classes };
OutputKind output_kind_from_name(std::string_view word);  // Error(usage) for an unknown word
std::string_view name(OutputKind kind);

// Which package's definition a metric follows where packages differ: the values of `--definitions`.
enum class Definitions { torchmetrics, sklearn };
Definitions definitions_from_name(std::string_view word);  // Error(usage) for an unknown word
std::string_view name(Definitions definitions);

}  // namespace tally::metrics
