// Weights of fused convolutions, put into the order in which oneDNN wants them once instead of in
// each call: 47 MB for a ResNet-18.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/record_function.h>
#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// What the fused convolutions that this thread runs are given, from here to the end of the scope.
// The order of the weights depends on it.
class InputSizes {
 public:
  InputSizes();
  ~InputSizes();
  InputSizes(const InputSizes&) = delete;
  InputSizes& operator=(const InputSizes&) = delete;

  // In the order of the calls.
  const std::vector<std::vector<std::int64_t>>& seen() const { return seen_; }

 private:
  std::vector<std::vector<std::int64_t>> seen_;
  at::CallbackHandle callback_;
};

struct Packed {
  int convolutions = 0;      // none where their number is not that of the sizes
  int of_them_winograd = 0;  // use_winograd.hpp
  int of_them_narrow = 0;    // use_narrow.hpp
};

// For a fused graph without branches that has not run yet; `sizes` are those of another like it.
// It is made for as many threads as share operations now.
Packed pack_weights(torch::jit::Graph& graph, const std::vector<std::vector<std::int64_t>>& sizes);

}  // namespace tally::model
