// SPDX-License-Identifier: Apache-2.0
#include "token_classification/tagged_sequences.hpp"

namespace tally::tasks {
namespace {

// Elements [begin, end).
template <class T>
std::span<const T> part(const std::vector<T>& all, std::size_t begin, std::size_t end) {
  return std::span(all).subspan(begin, end - begin);
}

}  // namespace

void TaggedSequences::clear() {
  sequences_.clear();
  labels_.clear();
  predictions_.clear();
  entities_.clear();
}

void TaggedSequences::add_token(std::int32_t label, std::int32_t prediction) {
  labels_.push_back(label);
  predictions_.push_back(prediction);
}

void TaggedSequences::end_sequence(std::int64_t index, double loss, bool finite) {
  const std::size_t begin = sequences_.empty() ? 0 : sequences_.back().tokens_end;
  if (tags_) {
    metrics::append_entities(*tags_, part(labels_, begin, labels_.size()),
                             part(predictions_, begin, predictions_.size()), entities_);
  }
  sequences_.push_back({index, loss, finite, labels_.size(), entities_.size()});
}

std::vector<metrics::TokenClassificationRecord> TaggedSequences::records() const {
  std::vector<metrics::TokenClassificationRecord> records;
  Sequence before;
  for (const Sequence& each : sequences_) {
    records.push_back({.index = static_cast<std::uint64_t>(each.index),
                       .finite = each.finite,
                       .labels = part(labels_, before.tokens_end, each.tokens_end),
                       .predictions = part(predictions_, before.tokens_end, each.tokens_end),
                       .loss = each.loss,
                       .entities = part(entities_, before.entities_end, each.entities_end)});
    before = each;
  }
  return records;
}

}  // namespace tally::tasks
