// Max pooling on the CPU without the indices of the maxima, which LibTorch's own computes although
// nobody reads them.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// What they become.
inline constexpr const char* kMaxPool = "tally::max_pool2d";

// For a frozen graph on the CPU that has not run yet. Every one becomes an operator of Tally's own,
// with new memory for its result; it takes floating-point images whose channels come last, without
// dilation and ceil_mode, and hands all else on, and everything where has_own_pools() is false.
// How many.
//
// Values are the same, NaN and infinities too, and so are shapes, memory formats, types and errors.
// Only the sign of a zero may differ: it is that of 0 where 0 and -0 meet in a window.
int pool_without_indices(torch::jit::Graph& graph);

// Whether this thread computes them itself: not where several share operations, nor where
// ONEDNN_MAX_CPU_ISA imitates a processor without AVX2.
bool has_own_pools();

}  // namespace tally::model
