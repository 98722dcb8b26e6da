// Which package's definition a metric follows where packages differ: the values of `--definitions`.
#pragma once

#include <string_view>

namespace tally::metrics {

enum class Definitions { torchmetrics, sklearn };
Definitions definitions_from_name(std::string_view word);  // Error(usage) for an unknown word
std::string_view name(Definitions definitions);

}  // namespace tally::metrics
