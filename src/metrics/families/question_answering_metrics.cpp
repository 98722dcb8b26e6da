// SPDX-License-Identifier: Apache-2.0
#include "families/question_answering_metrics.hpp"

#include <memory>
#include <string>

#include <tally/exact/rational.hpp>
#include <tally/exact/sum.hpp>

#include "count_records.hpp"

namespace tally::metrics {
namespace {

using exact::Rational;
using exact::SumKind;

// The sums stay exact until the one division: those of both kinds of questions can be added without
// another rounding.
struct AnswerSums {
  std::int64_t count = 0;
  std::int64_t exact = 0;
  Rational f1;
};

AnswerSums operator+(const AnswerSums& a, const AnswerSums& b) {
  return {a.count + b.count, a.exact + b.exact, a.f1 + b.f1};
}

void append(const std::string& prefix, const AnswerSums& sums, std::vector<MetricValue>& metrics) {
  MetricValue exact{.name = prefix + "exact_match", .value = std::nullopt};
  MetricValue f1{.name = prefix + "f1", .value = std::nullopt};
  if (sums.count > 0) {
    // Exact match is a share of questions and has Wilson's interval; F1 is a mean of numbers
    // between 0 and 1 and has none.
    exact.proportion = Proportion{sums.exact, sums.count};
    exact.value = static_cast<double>(sums.exact) / static_cast<double>(sums.count);
    f1.value = (sums.f1 / sums.count).to_double();
  }
  metrics.push_back(std::move(exact));
  metrics.push_back(std::move(f1));
}

class QuestionAnsweringMetrics : public Family {
 public:
  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    counters.answers = {declare_kind("answers.with", layout),
                        declare_kind("answers.without", layout)};
  }

  void finalize(const exact::State& state, Results& results) const override {
    const AnswerSums with = sums_of("answers.with", state);
    const AnswerSums without = sums_of("answers.without", state);
    append("", with + without, results.metrics);
    append("has_answer_", with, results.metrics);
    append("no_answer_", without, results.metrics);
  }

 private:
  static QuestionAnsweringCounters::Kind declare_kind(const std::string& name,
                                                      exact::StateLayout& layout) {
    return {layout.add_counters(name + ".count", 1).offset,
            layout.add_counters(name + ".exact", 1).offset,
            layout.add_sum(name + ".f1", SumKind::float64).offset};
  }

  static AnswerSums sums_of(const std::string& name, const exact::State& state) {
    const auto values = [&](const char* what) {
      return state.of(state.layout().find(name + what));
    };
    return {values(".count")[0], values(".exact")[0], Rational(values(".f1"), SumKind::float64)};
  }
};

// A threshold can be sought only where each question has a score for no answer; texts that are
// scored without their model have none.
std::optional<std::string> needs_margins(const MetricOptions& options,
                                         std::string_view /*metric*/) {
  if (!options.no_answer) return "is of data sets in which a question may have no answer";
  if (!options.has_margins) return "needs a model's scores for no answer";
  return std::nullopt;
}

// Where every question has an answer, there is nothing to tell apart.
std::optional<std::string> needs_no_answer(const MetricOptions& options, std::string_view metric) {
  if (options.no_answer || metric == "exact_match" || metric == "f1") return std::nullopt;
  return "is of data sets in which a question may have no answer";
}

}  // namespace

// The records follow SQuAD's scorer v1.1, and v2.0 where a question may have no answer; tasks
// compares the texts.
FamilyEntry answer_family() {
  return {
      .metrics = {{"exact_match", "share of questions whose answer is a true one, normalised"},
                  {"f1", "mean over questions of the F1 of words, with the best true answer"},
                  {"has_answer_exact_match", "exact_match of the questions that have an answer"},
                  {"has_answer_f1", "f1 of the questions that have an answer"},
                  {"no_answer_exact_match", "share of the others for which none is predicted"},
                  {"no_answer_f1", "the same"}},
      .kept = Kept::on_request,
      .make = [](const MetricOptions&) -> std::unique_ptr<Family> {
        return std::make_unique<QuestionAnsweringMetrics>();
      },
      .obstacle = needs_no_answer};
}

FamilyEntry best_answer_family() {
  return {.metrics = {{.name = "best_exact_match",
                       .definition = "exact_match at the best --no-answer-threshold there is",
                       .needs_order = true},
                      {.name = "best_f1",
                       .definition = "f1 at the best --no-answer-threshold there is",
                       .needs_order = true}},
          .kept = Kept::on_request,
          .make = [](const MetricOptions&) -> std::unique_ptr<Family> {
            return std::make_unique<DeferredFamily>();
          },
          .obstacle = needs_margins};
}

// Questions are made of samples after the loop: no pass counts them.
template void MetricSet::add(std::span<const QuestionAnsweringRecord>, exact::State&) const;
template void PrecomputedUpdates::prepare(const MetricSet&,
                                          std::span<const QuestionAnsweringRecord>);

}  // namespace tally::metrics
