// Inputs that differ from sample to sample, to try a network with before there are data.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace tally::model {

// In the shapes, layouts and types of `inputs`. Floating-point ones hold a fixed pattern from -2 to
// 2, in which a wrong axis or mask, or what samples of a batch have in common, shows; whole numbers
// are 0 or 1, which are tokens of every vocabulary and both values of a mask, and begin with 1 in
// each sample.
std::vector<at::Tensor> probe_inputs(const std::vector<at::Tensor>& inputs);

// For GPUs, where a number that a network takes for an index can end the process: floating-point
// ones are fractions below one half, which are 0 as the given zeros are, and whole numbers are the
// given ones. In a pattern that differs from row to row.
std::vector<at::Tensor> harmless_probes(const std::vector<at::Tensor>& inputs);

}  // namespace tally::model
