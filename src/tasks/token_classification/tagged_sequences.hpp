// SPDX-License-Identifier: Apache-2.0
// Sequences whose tokens are classified one by one, gathered one after the other: their records
// with the entities that their classes name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <tally/metrics/entities.hpp>
#include <tally/metrics/token_classification_record.hpp>

namespace tally::tasks {

class TaggedSequences {
 public:
  // tags: none where no entities are sought. They outlive this object.
  explicit TaggedSequences(const std::optional<metrics::EntityTags>& tags) : tags_(tags) {}

  void clear();
  // A token of the next sequence that is scored.
  void add_token(std::int32_t label, std::int32_t prediction);
  // Makes a sequence of the tokens since the last one. loss: as in the record.
  void end_sequence(std::int64_t index, double loss, bool finite);

  // They point into this object, until it is changed.
  std::vector<metrics::TokenClassificationRecord> records() const;

 private:
  struct Sequence {
    std::int64_t index = 0;
    double loss = 0;
    bool finite = true;
    std::size_t tokens_end = 0, entities_end = 0;
  };

  const std::optional<metrics::EntityTags>& tags_;
  std::vector<Sequence> sequences_;
  // Of all sequences.
  std::vector<std::int32_t> labels_, predictions_;
  std::vector<metrics::EntityRecord> entities_;
};

}  // namespace tally::tasks
