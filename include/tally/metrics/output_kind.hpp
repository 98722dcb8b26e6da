// What a model returns: the values of `--outputs`.
#pragma once

#include <string_view>

namespace tally::metrics {

enum class OutputKind { logits, log_probabilities, probabilities };
OutputKind output_kind_from_name(std::string_view word);  // Error(usage) for an unknown word
std::string_view name(OutputKind kind);

}  // namespace tally::metrics
