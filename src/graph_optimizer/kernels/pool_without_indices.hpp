// SPDX-License-Identifier: Apache-2.0
// Max pooling without the indices of the maxima, which LibTorch's own computes although
// nobody reads them.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::graph_optimizer {

// What they become.
inline constexpr const char* kMaxPool = "tally::max_pool2d";

// Replaces every aten::max_pool2d of a frozen graph that has not run yet, and returns how many
// there were. An operator of Tally's own takes their place, with new memory for its result. It
// takes images in float32 and 16 bits whose channels come last, without dilation, and hands all
// else on to LibTorch, and everything on a CPU where has_own_pools() is false.
//
// Values are the same, NaN and infinities too, and so are shapes, memory formats, types and errors.
// Only the sign of a zero may differ: it is that of 0 where 0 and -0 meet in a window.
int pool_without_indices(torch::jit::Graph& graph);

// Whether this thread computes them itself on a CPU: not where several share operations, nor where
// ONEDNN_MAX_CPU_ISA imitates a processor without AVX2.
bool has_own_pools();

}  // namespace tally::graph_optimizer
