// SPDX-License-Identifier: Apache-2.0
#include "families/language_model_metrics.hpp"

#include <cmath>
#include <memory>
#include <numbers>
#include <string>

#include <tally/exact/sum.hpp>

#include "count_records.hpp"

namespace tally::metrics {
namespace {

using exact::SumKind;

// none where it is too large for a double.
std::optional<double> finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

class LanguageModelMetrics : public Family {
 public:
  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    const auto counter = [&](const char* name) { return layout.add_counters(name, 1).offset; };
    const auto sum = [&](const char* name) {
      return layout.add_sum(name, SumKind::float64).offset;
    };
    counters.language_model = {.tokens = counter("documents.tokens"),
                               .right = counter("documents.right"),
                               .in_top5 = counter("documents.in_top5"),
                               .with_scores = counter("documents.with_scores"),
                               .loss = sum("documents.loss"),
                               .whole_loss = sum("documents.whole_loss"),
                               .bytes = counter("documents.bytes"),
                               .words = counter("documents.words")};
  }

  void finalize(const exact::State& state, Results& results) const override {
    const auto values = [&](const char* name) { return state.of(state.layout().find(name)); };
    const auto add = [&](std::string name, std::optional<double> value) {
      results.metrics.push_back({.name = std::move(name), .value = value});
    };
    const auto mean = [&](const char* sum, const char* counter) -> std::optional<double> {
      const std::int64_t count = values(counter)[0];
      if (count == 0) return std::nullopt;
      return finite(exact::mean(values(sum), SumKind::float64, count));
    };
    const auto exp_of = [](std::optional<double> loss) {
      return loss ? finite(std::exp(*loss)) : std::nullopt;
    };
    // Shares of tokens that depend on one another: no proportions, of which intervals could be
    // told.
    const auto share = [&](const char* counter) -> std::optional<double> {
      const std::int64_t tokens = values("documents.tokens")[0];
      if (tokens == 0) return std::nullopt;
      return static_cast<double>(values(counter)[0]) / static_cast<double>(tokens);
    };
    const auto by_token = mean("documents.loss", "documents.with_scores");
    const auto by_byte = mean("documents.whole_loss", "documents.bytes");
    add("loss", by_token);
    add("perplexity", exp_of(by_token));
    add("bits_per_byte", by_byte ? finite(*by_byte / std::numbers::ln2) : std::nullopt);
    add("byte_perplexity", exp_of(by_byte));
    add("word_perplexity", exp_of(mean("documents.whole_loss", "documents.words")));
    add("accuracy", share("documents.right"));
    add("accuracy_top5", share("documents.in_top5"));
  }
};

MetricDescription loss(std::string_view name, std::string_view definition) {
  return {.name = name,
          .definition = definition,
          .less_is_better = true,
          .leaves_out_not_finite = true};
}

}  // namespace

FamilyEntry language_model_family() {
  return {.metrics = {loss("loss", "mean over tokens of -log(probability), in nats"),
                      loss("perplexity", "exp(loss)"),
                      loss("bits_per_byte", "sum of -log2(probability) by bytes of the texts"),
                      loss("byte_perplexity", "exp of the sum of -log(probability) by bytes"),
                      loss("word_perplexity", "the same by words"),
                      {"accuracy", "share of tokens that are the most likely one"},
                      {"accuracy_top5", "share of tokens among the five most likely ones"}},
          .make = [](const MetricOptions&) -> std::unique_ptr<Family> {
            return std::make_unique<LanguageModelMetrics>();
          }};
}

// Documents are made of samples after the loop: no pass counts them.
template void MetricSet::add(std::span<const LanguageModelRecord>, exact::State&) const;
template void PrecomputedUpdates::prepare(const MetricSet&, std::span<const LanguageModelRecord>);

}  // namespace tally::metrics
