// SPDX-License-Identifier: Apache-2.0
// These functions try a network before there are data: they make inputs that differ from sample to
// sample, and check whether two ways of running it give the same scores but for rounding.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

namespace tally::libtorch {

// In the shapes, layouts and types of `inputs`. Floating-point ones hold a fixed pattern from -2 to
// 2, in which a wrong axis or mask, or what samples of a batch have in common, shows; whole numbers
// are 0 or 1, which are tokens of every vocabulary and both values of a mask. They begin with 1 in
// each sample; where a sample has only one, 1 and 0 alternate.
std::vector<at::Tensor> probe_inputs(const std::vector<at::Tensor>& inputs);

// For GPUs, where a number that a network takes for an index can end the process. Floating-point
// numbers are fractions below one half: made an index they are 0, as the given zeros are. They
// follow a pattern that differs from row to row. Whole numbers are the given ones.
std::vector<at::Tensor> harmless_probes(const std::vector<at::Tensor>& inputs);

// How far floating-point numbers may be from others, as a share of the largest of these.
struct Tolerance {
  double of_float32;
  double of_16_bits;
  // In float32 the largest is looked for among those with the same index in the second dimension,
  // and in the last one: a detector returns boxes in pixels beside probabilities. This share of the
  // largest of all counts at least, since small scores are sums of large numbers, and as rough as
  // these.
  double least_share;
};
// Of other kernels. What a check of them is to catch is wrong by about the scores themselves.
inline constexpr Tolerance kOfKernels{1e-3, 0.1, 0.1};
// Of the same kernels for fewer samples.
inline constexpr Tolerance kOfBatchSizes{1e-4, 0.02, 1};

// All there are, in tuples, lists and dicts too.
std::vector<at::Tensor> tensors_of(const c10::IValue& value);

// std::runtime_error with one line where floating-point numbers in `scores` are further from those
// in `plain` than that, where one is finite and the other is not, where more than one in a hundred
// of whole numbers, which may stand for classes, differ, or where number, shapes or types of the
// tensors do. Looks into tuples, lists and dicts.
void check_close_enough(const c10::IValue& scores, const c10::IValue& plain,
                        Tolerance tolerance = kOfKernels);

}  // namespace tally::libtorch
