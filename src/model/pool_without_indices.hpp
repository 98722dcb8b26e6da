// Max pooling on the CPU without the indices of the maxima, which LibTorch's own computes although
// nobody reads them.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// For a frozen graph on the CPU that has not run yet, after fuse_convolutions, which knows
// aten::max_pool2d alone. Pools known to be of 2x2 pixels, side by side, without padding and
// ceil_mode, become an operator of Tally's own: the larger of each two rows, and then of each two
// columns, in new memory. How many.
//
// Values are the same, NaN and infinities too, and so are shapes, memory formats, types and errors.
// Only the sign of a zero may differ, where 0 and -0 meet in a window, also between numbers of
// threads. Pools of 3x3 stay: three rows, of which two are read twice, take longer.
int pool_without_indices(torch::jit::Graph& graph);

}  // namespace tally::model
