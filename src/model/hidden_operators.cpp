#include "hidden_operators.hpp"

#include <ATen/ops/exp.h>
#include <torch/library.h>

namespace tally::model {

void register_hidden_operators() {
  static const auto library = [] {
    torch::Library made(torch::Library::FRAGMENT, "tally", std::nullopt, __FILE__, __LINE__);
    made.def("exp(Tensor self) -> Tensor", [](const at::Tensor& self) { return at::exp(self); });
    return made;
  }();
}

}  // namespace tally::model
