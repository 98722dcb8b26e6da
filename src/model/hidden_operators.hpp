// Operators that LibTorch's oneDNN fuser must not see, under names of our own.
#pragma once

namespace tally::model {

// (Tensor self) -> Tensor: aten::exp. oneDNN's makes infinity of NaN.
inline constexpr const char* kExp = "tally::exp";

// aten::avg_pool2d, arguments and all. oneDNN's takes ten times as long for some of the channels.
inline constexpr const char* kAveragePool = "tally::avg_pool2d";

// Makes them known, until the process ends.
void register_hidden_operators();

}  // namespace tally::model
