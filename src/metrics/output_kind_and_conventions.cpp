// SPDX-License-Identifier: Apache-2.0
#include <tally/metrics/output_kind_and_conventions.hpp>

#include <algorithm>
#include <array>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally::metrics {
namespace {

// Names stand in the order of the enumerators, so that the place of a name is the value.
constexpr std::array<std::string_view, 4> kOutputs{"logits", "log-probabilities", "probabilities",
                                                   "classes"};
constexpr std::array<std::string_view, 2> kDefinitions{"torchmetrics", "sklearn"};

template <class Enum, class Names>
Enum from_name(std::string_view word, const Names& names, std::string_view what) {
  const auto found = std::find(names.begin(), names.end(), word);
  if (found == names.end()) {
    throw Error(ErrorKind::usage,
                format("'{}' is no kind of {}, expected {}", word, what, fmt::join(names, ", ")));
  }
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

OutputKind output_kind_from_name(std::string_view word) {
  return from_name<OutputKind>(word, kOutputs, "output");
}

std::string_view name(OutputKind kind) { return kOutputs.at(static_cast<std::size_t>(kind)); }

Definitions definitions_from_name(std::string_view word) {
  return from_name<Definitions>(word, kDefinitions, "definitions");
}

std::string_view name(Definitions definitions) {
  return kDefinitions.at(static_cast<std::size_t>(definitions));
}

}  // namespace tally::metrics
