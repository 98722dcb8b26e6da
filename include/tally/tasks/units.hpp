// Tasks of whose samples several make a unit, which is what they score: scorers only keep a record
// of each sample, and units are made of them after the loop.
#pragma once

#include <span>
#include <variant>

#include <tally/exact/state.hpp>
#include <tally/metrics/language_model_record.hpp>
#include <tally/metrics/multiple_choice_record.hpp>
#include <tally/metrics/question_answering_record.hpp>
#include <tally/predictions/columns.hpp>

namespace tally::tasks {

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
using DocumentTask = UnitCounting<metrics::LanguageModelRecord>;
using ChoiceTask = UnitCounting<metrics::MultipleChoiceRecord>;

// A task by what its units are. None: samples are units themselves.
using UnitTask =
    std::variant<std::monostate, const AnswerTask*, const DocumentTask*, const ChoiceTask*>;

}  // namespace tally::tasks
