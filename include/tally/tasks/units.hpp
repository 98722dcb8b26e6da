// Tasks of whose samples several make a unit, which is what they score: scorers only keep a record
// of each sample, and units are made of them after the loop.
#pragma once

#include <span>
#include <variant>

#include <tally/exact/state.hpp>
#include <tally/metrics/answer_row.hpp>
#include <tally/metrics/choice_row.hpp>
#include <tally/metrics/document_row.hpp>
#include <tally/predictions/columns.hpp>

namespace tally::tasks {

// How they are counted. Row: what is known of a unit.
template <class Row>
class UnitCounting {
 public:
  // The evidence of samples.
  virtual void count(std::span<const metrics::SampleRow> samples, exact::State& state) const = 0;
  virtual void count(std::span<const Row> units, exact::State& state) const = 0;
  // Adds a row of Task::retained_columns(), where there are any.
  virtual void keep(const Row& unit, predictions::RecordBatch& retained) const = 0;

 protected:
  ~UnitCounting() = default;
};

class AnswerTask;  // questions that are answered
using DocumentTask = UnitCounting<metrics::DocumentRow>;
using ChoiceTask = UnitCounting<metrics::ChoiceRow>;

// A task by what its units are. None: samples are units themselves.
using UnitTask =
    std::variant<std::monostate, const AnswerTask*, const DocumentTask*, const ChoiceTask*>;

}  // namespace tally::tasks
