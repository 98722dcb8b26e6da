// Whose definition counts where the world has two; DESIGN's `--definitions`.
#pragma once

#include <string_view>

namespace tally::metrics {

enum class Definitions { torchmetrics, sklearn };
Definitions definitions_from_name(std::string_view word);  // Error(usage) for an unknown word
std::string_view name(Definitions definitions);

}  // namespace tally::metrics
