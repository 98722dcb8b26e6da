// SPDX-License-Identifier: Apache-2.0
// Declares what some tasks can do beyond scoring samples, as small interfaces, of which a task
// names those it has: making units of several samples, resampling, scores of classes, pairs of
// values.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include <tally/exact/state.hpp>
#include <tally/metrics/precomputed_updates.hpp>
#include <tally/metrics/results.hpp>
#include <tally/metrics/sample_records.hpp>
#include <tally/predictions/record_batch.hpp>

namespace tally::metrics {
struct MultipleChoiceRecord;
}

namespace tally::tasks {

// Tasks of whose samples several make a unit, which is what they score: scorers only keep a record
// of each sample, and units are made of them after the loop.

// How they are counted. Row: what is known of a unit.
template <class Row>
class UnitCounting {
 public:
  // The evidence of samples.
  virtual void count(std::span<const metrics::SampleRecord> samples, exact::State& state) const = 0;
  virtual void count(std::span<const Row> units, exact::State& state) const = 0;
  // Adds a row of Resampling::retained_columns(), where there are any.
  virtual void retain(const Row& unit, predictions::RecordBatch& retained) const = 0;

 protected:
  ~UnitCounting() = default;
};

class AnswerTask;  // questions that are answered
using LanguageModelTask = UnitCounting<metrics::LanguageModelRecord>;
using MultipleChoiceTask = UnitCounting<metrics::MultipleChoiceRecord>;

// A task by what its units are. None: samples are units themselves.
using UnitTask = std::variant<std::monostate, const AnswerTask*, const LanguageModelTask*,
                              const MultipleChoiceTask*>;

class DetectionTask;

// Counts samples again, from what was retained of them, for subgroups and bootstrap replicates: all
// metrics but the confusion matrix, which would be large.
class Resampling {
 public:
  // A row per sample, or per unit where several samples make one.
  virtual std::vector<predictions::ColumnSpec> retained_columns() const = 0;
  virtual std::shared_ptr<const exact::StateLayout> resample_layout() const = 0;
  // `retained` holds rows of retained_columns(), and outlives what is returned.
  virtual metrics::PrecomputedUpdates resample_rows(
      const predictions::RecordBatch& retained) const = 0;
  // Of a state of resample_layout().
  virtual metrics::Results finalize_resampled(const exact::State& state) const = 0;

 protected:
  ~Resampling() = default;
};

// Scores of the classes, one against the rest, from what was retained: curves are made of them.
class ClassScores {
 public:
  virtual std::int64_t num_score_classes() const = 0;
  // scores [rows, classes]; targets [rows, classes], 1 for the class, 0 for another, 2 for what is
  // not scored.
  virtual void one_vs_rest_scores(const predictions::RecordBatch& retained, std::span<float> scores,
                                  std::span<std::uint8_t> targets) const = 0;

 protected:
  ~ClassScores() = default;
};

// Real-valued outputs beside their targets, from what was retained: rank correlations are made of
// them.
class ValuePairs {
 public:
  virtual std::int64_t num_pair_outputs() const = 0;
  // Both [rows, outputs]; targets are NaN where a row does not count.
  virtual void prediction_target_pairs(const predictions::RecordBatch& retained,
                                       std::span<float> predictions,
                                       std::span<float> targets) const = 0;

 protected:
  ~ValuePairs() = default;
};

struct Capabilities {
  UnitTask units = {};  // by what several samples make; without a value samples are units
  // Where samples are images with objects: then scorers only collect detections, which are held
  // against the objects after the loop.
  const DetectionTask* detections = nullptr;
  const ClassScores* class_scores = nullptr;
  const ValuePairs* value_pairs = nullptr;
  // Whether samples may come in any order within a block (ScoredBatch::indices).
  bool is_order_independent = false;

  bool has_units() const { return !std::holds_alternative<std::monostate>(units); }
};

}  // namespace tally::tasks
