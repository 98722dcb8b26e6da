// SPDX-License-Identifier: Apache-2.0
// Lists the samples for which two runs predict different things, in one form for each kind of
// sample.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace tally::compare {

// Scored samples that are predicted otherwise in B than in A.
struct ChangeCounts {
  std::int64_t right_to_wrong = 0;
  std::int64_t wrong_to_right = 0;
  std::int64_t wrong_to_other_wrong = 0;

  // One that changed.
  void add(bool right_in_a, bool right_in_b) {
    ++(right_in_a ? right_to_wrong : right_in_b ? wrong_to_right : wrong_to_other_wrong);
  }
  std::int64_t total() const { return right_to_wrong + wrong_to_right + wrong_to_other_wrong; }
};

// Of samples with one class each (multiclass, binary).
struct ClassPrediction {
  std::int64_t predicted = 0;  // class; -1: none
  double confidence = 0;       // NaN where there is no prediction, or no score
};

struct ClassChange {
  std::int64_t index = 0;  // global sample index
  std::int64_t label = 0;
  ClassPrediction a, b;
};

struct ClassChanges {
  std::int64_t total() const { return counts.total(); }

  ChangeCounts counts;
  std::vector<ClassChange> first;  // in the order of the samples
};

// Of samples with several labels, each of them set or not (multilabel). A sample is right where
// every scored label is; labels that are not scored are nowhere.
struct LabelSetPrediction {
  std::optional<std::vector<std::int64_t>>
      labels;              // predicted ones, ascending; none: no prediction
  std::int64_t right = 0;  // scored labels that are predicted right
};

struct LabelSetChange {
  std::int64_t index = 0;            // global sample index
  std::int64_t scored = 0;           // labels of the sample that are scored
  std::vector<std::int64_t> labels;  // those that are set, ascending
  LabelSetPrediction a, b;
};

struct LabelSetChanges {
  std::int64_t total() const { return counts.total(); }

  ChangeCounts counts;
  std::vector<LabelSetChange> first;  // in the order of the samples
};

// Of samples with real-valued targets (regression).
struct ValuePrediction {
  std::vector<float> values;  // [outputs]
  double error = 0;           // mean over outputs of |prediction - target|; Inf where not finite
};

struct ValueChange {
  std::int64_t index = 0;      // global sample index
  std::vector<float> targets;  // [outputs]
  ValuePrediction a, b;

  // 0 also where neither is finite.
  double change() const { return a.error == b.error ? 0 : b.error - a.error; }
};

struct ValueChanges {
  std::int64_t total() const { return closer + farther; }

  std::int64_t closer = 0;         // samples whose error is smaller in B
  std::int64_t farther = 0;        // whose error is larger
  std::vector<ValueChange> first;  // by size of the change, the largest first; then by index
};

using Changes = std::variant<ClassChanges, LabelSetChanges, ValueChanges>;

// Global indices of the samples that are listed.
inline std::vector<std::int64_t> listed_indices(const Changes& changes) {
  std::vector<std::int64_t> indices;
  std::visit(
      [&](const auto& of_kind) {
        for (const auto& change : of_kind.first) indices.push_back(change.index);
      },
      changes);
  return indices;
}

}  // namespace tally::compare
