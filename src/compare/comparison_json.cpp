// SPDX-License-Identifier: Apache-2.0
#include <tally/compare/comparison_json.hpp>

#include <nlohmann/json.hpp>

#include <tally/base/build_info.hpp>

#include "changes_json.hpp"

namespace tally::compare {
namespace {

// It rises when a key is removed or changes its meaning.
constexpr int kSchema = 1;

Json side_or_null(std::optional<Side> side) {
  if (!side) return {};
  return *side == Side::a ? "a" : "b";
}

Json run_json(const RunInfo& run) {
  // An empty digest of weights means that the model had its own.
  return {{"path", run.path},
          {"model", run.model},
          {"model_sha256", run.model_sha256},
          {"weights_sha256", run.weights_sha256.empty() ? Json() : Json(run.weights_sha256)},
          {"predictions_digest", run.predictions_digest}};
}

// Two keys, "accuracy" and "exact_match", share this form. The result is null for the one that the
// outcomes are not of, or for both where no sample is right or wrong.
Json table_json(const std::optional<Outcomes>& outcomes, std::string_view metric) {
  if (!outcomes || outcomes->metric != metric) return {};
  const ContingencyTable& table = outcomes->table;
  return {{"both_right", table.both_right},
          {"only_a_right", table.only_a_right},
          {"only_b_right", table.only_b_right},
          {"neither_right", table.neither_right},
          {"mcnemar_p", mcnemar_p_value(table)}};
}

Json metrics_json(const std::vector<MetricDifference>& metrics) {
  Json object = Json::object();
  for (const MetricDifference& metric : metrics) {
    const auto& interval = metric.interval;
    object[metric.name] = {{"a", number_or_null(metric.a)},
                           {"b", number_or_null(metric.b)},
                           {"difference", number_or_null(metric.difference)},
                           {"low", interval ? number_or_null(interval->low) : Json()},
                           {"high", interval ? number_or_null(interval->high) : Json()},
                           {"method", interval ? Json(interval->method) : Json()},
                           {"less_is_better", metric.less_is_better},
                           {"better", side_or_null(metric.better())}};
  }
  return object;
}

Json left_out_json(const std::vector<LeftOut>& metrics) {
  Json rows = Json::array();
  for (const LeftOut& metric : metrics) {
    rows.push_back({{"metric", metric.metric}, {"reason", metric.reason}});
  }
  return rows;
}

}  // namespace

std::string to_json(const Comparison& comparison) {
  const auto& build = build_info();
  const Conclusion conclusion = conclude(comparison);
  Json json;
  json["tally"] = {
      {"version", build.version}, {"revision", build.revision}, {"compare_schema", kSchema}};
  json["task"] = comparison.task;
  json["a"] = run_json(comparison.a);
  json["b"] = run_json(comparison.b);
  json["data"] = {{"path", comparison.samples.path}, {"identity", comparison.samples.identity}};
  json["samples"] = {{"total", comparison.samples.count},
                     {"scored", comparison.samples.scored()},
                     {"ignored", comparison.samples.ignored}};
  json["definitions"] = comparison.definitions;
  // The key is named after the option --bootstrap-replicas, and stays as it is documented.
  json["bootstrap"] = {{"replicas", comparison.options.replicates},
                       {"seed", comparison.options.seed}};
  json["accuracy"] = table_json(comparison.outcomes, "accuracy");
  json["exact_match"] = table_json(comparison.outcomes, "exact_match");
  json["metrics"] = metrics_json(comparison.metrics);
  json["left_out"] = left_out_json(comparison.left_out);
  json["changes"] =
      changes_json(comparison.changes, comparison.samples.class_names, comparison.samples.names);
  json["conclusion"] = {{"better", side_or_null(conclusion.better)},
                        {"metric", conclusion.metric},
                        {"sentence", conclusion.sentence}};
  json["notes"] = comparison.notes;
  // A path that is not UTF-8 must not stop the output: such bytes become U+FFFD.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tally::compare
