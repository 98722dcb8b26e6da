// SPDX-License-Identifier: Apache-2.0
// A ReLU that keeps NaN where oneDNN's own would make 0 of it.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::graph_optimizer {

// oneDNN's ReLU returns 0 for NaN, which would hide a network that has diverged; its leaky one does
// not. With this slope a negative x gives 1e-30 * x instead of 0, which vanishes beside any bias
// above 1e-10.
inline constexpr double kSlopeThatKeepsNan = 1e-30;

// Whether what is tiny in `value` vanishes beside a bias on every way to the scores. Elsewhere it
// would make scores of exactly 0, and their ties, other numbers.
bool tiny_numbers_vanish(const torch::jit::Value* value);

}  // namespace tally::graph_optimizer
