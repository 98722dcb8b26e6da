// SPDX-License-Identifier: Apache-2.0
// Sequences whose tokens are classified one by one, for tests.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <tally/metrics/entities.hpp>
#include <tally/metrics/token_classification_record.hpp>

namespace tally::metrics {

// Holds what records point to.
class TaggedSamples {
 public:
  // No tags: no entities are sought.
  explicit TaggedSamples(const std::vector<std::string>& class_names) {
    if (!lack_of_entities(class_names)) tags_.emplace_back(class_names);
  }
  TaggedSamples(TaggedSamples&&) = default;
  TaggedSamples& operator=(TaggedSamples&&) = default;

  void add(std::vector<std::int32_t> labels, std::vector<std::int32_t> predictions, double loss = 0,
           bool finite = true) {
    auto& kept = kept_.emplace_back(std::move(labels), std::move(predictions));
    auto& entities = entities_.emplace_back();
    if (!tags_.empty()) append_entities(tags_[0], kept.first, kept.second, entities);
    records.push_back({.index = records.size(),
                       .finite = finite,
                       .labels = kept.first,
                       .predictions = kept.second,
                       .loss = loss,
                       .entities = entities});
  }

  std::vector<TokenClassificationRecord> records;

 private:
  std::vector<EntityTags> tags_;
  // Moving the outer vectors leaves the inner ones where they are.
  std::vector<std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>> kept_;
  std::vector<std::vector<EntityRecord>> entities_;
};

// Some empty or without finite scores; half of the tokens are predicted right.
inline TaggedSamples random_tags(const std::vector<std::string>& class_names, std::int64_t size,
                                 unsigned seed) {
  std::mt19937 random(seed);
  TaggedSamples samples(class_names);
  for (std::int64_t i = 0; i < size; ++i) {
    const std::size_t tokens = random() % 8 == 0 ? 0 : 1 + random() % 20;
    const bool finite = tokens == 0 || random() % 10 > 0;
    std::vector<std::int32_t> labels, predictions;
    for (std::size_t t = 0; t < tokens; ++t) {
      labels.push_back(static_cast<std::int32_t>(random() % class_names.size()));
      predictions.push_back(random() % 2 == 0
                                ? labels.back()
                                : static_cast<std::int32_t>(random() % class_names.size()));
    }
    if (!finite) predictions[0] = -1;
    samples.add(std::move(labels), std::move(predictions),
                std::uniform_real_distribution<double>(0, 9)(random), finite);
  }
  return samples;
}

}  // namespace tally::metrics
