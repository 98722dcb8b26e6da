// The documents of a language model: the sums over their windows.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <tally/aggregate/unit_aggregator.hpp>
#include <tally/predictions/log.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/session.hpp>
#include <tally/tasks/documents.hpp>

namespace tally::app {

// As UnitAggregator wants it.
class Documents {
 public:
  using Found = tasks::DocumentSums;
  static constexpr std::string_view kOne = "document", kMany = "documents";

  Documents(const EvaluationSession& session, LocalUnits& units)
      : Documents(session, units.state) {}
  // `state` counts the units.
  Documents(const EvaluationSession& session, exact::State& state)
      : session_(session),
        task_(*std::get<const tasks::DocumentTask*>(session.scoring.capabilities().units)),
        state_(state) {}

  const tasks::DocumentTask& task() const { return task_; }
  static std::vector<UnitSample<Found>> samples_in(const predictions::RecordBatch& window);
  static void merge(const Found& more, Found& found) { found.add(more); }
  static void pack(const Found& found, std::vector<std::byte>& bytes) { found.pack(bytes); }
  static Found unpack(std::span<const std::byte> bytes) { return Found(bytes); }
  void score(std::span<const UnitPart<Found>> parts, std::int64_t cut,
             predictions::PredictionLog& log, predictions::PredictionLog& retained);
  static void finish() {}

 private:
  const EvaluationSession& session_;
  const tasks::DocumentTask& task_;
  exact::State& state_;
};

}  // namespace tally::app
