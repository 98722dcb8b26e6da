// SPDX-License-Identifier: Apache-2.0
// Holds everything that an evaluation adds up, as one vector of int64.
//
// StateLayout names spans of that vector. It is a pure function of task, metrics and options, so
// all ranks have the same one; merging the states of two parts of a run is adding integers, in any
// order.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <tally/exact/sum.hpp>

namespace tally::exact {

enum class SpanKind { counters, float32_sum, float64_sum };

struct StateSpan {
  std::string name;  // "multiclass.correct"
  SpanKind kind = SpanKind::counters;
  std::int64_t offset = 0;  // in elements of the state
  std::int64_t length = 0;
};

class StateLayout {
 public:
  // Names are unique; Error(internal) otherwise.
  StateSpan add_counters(std::string_view name, std::int64_t length);
  StateSpan add_sum(std::string_view name, SumKind kind);

  std::int64_t length() const { return length_; }
  std::int64_t num_bytes() const { return length_ * 8; }
  const std::vector<StateSpan>& spans() const { return spans_; }
  // Throws Error(internal) for an unknown name.
  const StateSpan& find(std::string_view name) const;
  // One line a span, for agreement between ranks and for digests.
  std::string description() const;

 private:
  StateSpan add(std::string_view name, SpanKind kind, std::int64_t length);

  std::vector<StateSpan> spans_;
  std::unordered_set<std::string> names_;  // of the spans
  std::int64_t length_ = 0;
};

class State {
 public:
  explicit State(std::shared_ptr<const StateLayout> layout);

  const StateLayout& layout() const { return *layout_; }
  std::span<std::int64_t> values() { return values_; }
  std::span<const std::int64_t> values() const { return values_; }
  std::span<std::int64_t> of(const StateSpan& span);
  std::span<const std::int64_t> of(const StateSpan& span) const;

  // Brings every sum to canonical form. Before and after each merge, before each file and digest.
  void canonicalise();
  // Adds another part of the run (same layout, else Error(internal)) and canonicalises.
  void merge(State other);
  // Little-endian bytes for digests and files. Error(internal) if a sum is not canonical.
  std::span<const std::byte> bytes() const;

 private:
  std::shared_ptr<const StateLayout> layout_;
  std::vector<std::int64_t> values_;
};

}  // namespace tally::exact
