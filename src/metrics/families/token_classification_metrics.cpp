// SPDX-License-Identifier: Apache-2.0
#include "families/token_classification_metrics.hpp"

#include <cmath>
#include <memory>
#include <string>

#include <tally/base/checked_cast.hpp>

#include "count_records.hpp"
#include "families/metrics_from_class_counts.hpp"

namespace tally::metrics {
namespace {

// Tokens of a sequence depend on one another, and so do its entities: no share of them is a share
// of independent samples, and none has Wilson's interval.
class TokenAccuracy : public Family {
 public:
  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    tokens_ = layout.add_counters("tokens.scored", 1);
    right_ = layout.add_counters("tokens.right", 1);
    with_scores_ = layout.add_counters("tokens.with_scores", 1);
    loss_ = layout.add_sum("tokens.loss", kSumKind);
    counters.tokens = {tokens_.offset, right_.offset, with_scores_.offset, loss_.offset};
  }

  void finalize(const exact::State& state, Results& results) const override {
    const Proportion right{state.of(right_)[0], state.of(tokens_)[0]};
    results.metrics.push_back({"accuracy", right.value()});
    results.metrics.push_back({"loss", mean_loss(state)});
  }

 private:
  std::optional<double> mean_loss(const exact::State& state) const {
    const std::int64_t count = state.of(with_scores_)[0];
    if (count == 0) return std::nullopt;
    return exact::mean(state.of(loss_), kSumKind, count);
  }

  exact::StateSpan tokens_, right_, with_scores_, loss_;
};

// Follows seqeval's precision_recall_fscore_support(): a type that neither labels nor predictions
// name is left out of means, and 0/0 counts as 0 in them.
class EntityMetrics : public Family {
 public:
  explicit EntityMetrics(const MetricOptions& options)
      : types_(EntityTags(options.class_names).types()) {}

  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    correct_ = layout.add_counters("entities.correct", std::ssize(types_));
    predicted_ = layout.add_counters("entities.predicted", std::ssize(types_));
    support_ = layout.add_counters("entities.support", std::ssize(types_));
    counters.entities = {support_.offset, predicted_.offset, correct_.offset};
  }

  void finalize(const exact::State& state, Results& results) const override {
    std::vector<ClassCount> counts;
    ClassCount all;
    for (std::size_t i = 0; i < types_.size(); ++i) {
      const ClassCount count{state.of(support_)[i], state.of(predicted_)[i], state.of(correct_)[i]};
      results.entity_types.push_back({types_[i], count.support, count.predicted, count.correct,
                                      precision(count).value(), recall(count).value(),
                                      f1(count).value()});
      counts.push_back(count);
      all.support += count.support;
      all.predicted += count.predicted;
      all.correct += count.correct;
    }
    const auto add = [&](const char* metric, std::optional<double> value) {
      results.metrics.push_back({metric, value});
    };
    const auto f1s = ratios_of(counts, f1);
    add("entity_precision", precision(all).value());
    add("entity_recall", recall(all).value());
    add("entity_f1", f1(all).value());
    add("entity_f1_macro", macro(counts, f1s, Absent::left_out));
    add("entity_f1_weighted", weighted(counts, f1s));
  }

 private:
  static Ratio f1(const ClassCount& count) { return f_beta(count, 1); }

  std::vector<std::string> types_;
  exact::StateSpan correct_, predicted_, support_;
};

std::optional<std::string> needs_tags(const MetricOptions& options, std::string_view /*metric*/) {
  const auto lack = lack_of_entities(options.class_names);
  if (!lack) return std::nullopt;
  return "needs names of classes that are tags of entities: " + *lack;
}

}  // namespace

FamilyEntry token_accuracy_family() {
  return {.metrics = {{.name = "accuracy",
                       .definition = "share of scored tokens that are predicted right (micro)"},
                      {.name = "loss",
                       .definition = "mean cross entropy of the scored tokens, natural logarithm",
                       .less_is_better = true,
                       .leaves_out_not_finite = true}},
          .make = [](const MetricOptions&) -> std::unique_ptr<Family> {
            return std::make_unique<TokenAccuracy>();
          }};
}

FamilyEntry entity_family() {
  return {.metrics = {{"entity_precision", "right entities over all predicted ones (seqeval)"},
                      {"entity_recall", "right entities over all labelled ones"},
                      {"entity_f1", "F1 of the entities of all types"},
                      {"entity_f1_macro", "mean of the types' F1 of entities"},
                      {"entity_f1_weighted", "mean of the types' F1 of entities, by support"}},
          .make = [](const MetricOptions& options) -> std::unique_ptr<Family> {
            return std::make_unique<EntityMetrics>(options);
          },
          .obstacle = needs_tags};
}

// Sequences are put together on the host: no pass counts them.
template void MetricSet::add(std::span<const TokenClassificationRecord>, exact::State&) const;
template void PrecomputedUpdates::prepare(const MetricSet&,
                                          std::span<const TokenClassificationRecord>);

}  // namespace tally::metrics
