// SPDX-License-Identifier: Apache-2.0
#include <tally/report/report_json.hpp>

#include <optional>

#include <nlohmann/json.hpp>

#include <tally/base/build_info.hpp>
#include <tally/base/format.hpp>
#include <tally/report/efficiency.hpp>

#include "json_metrics.hpp"

namespace tally::report {
namespace {

// Many readers of JSON hold numbers as doubles, which would round sums modulo 2^64, so that these
// are texts.
std::string hex(std::uint64_t value) { return format("{:#018x}", value); }

Json evidence_json(const Evidence& evidence) {
  return {{"count", evidence.count},
          {"index_sum", hex(evidence.index_sum)},
          {"index_mix", hex(evidence.index_mix)}};
}

Evidence evidence_of(const metrics::Results& results) {
  const metrics::IndexEvidence seen = results.samples();
  return {seen.count, seen.index_sum, seen.index_mix};
}

Json samples_json(const RunReport& report) {
  // Both sides are written, so that a reader can repeat the comparison of exactly_once().
  Json coverage = evidence_json(evidence_of(report.metrics.results));
  coverage["expected"] = evidence_json(report.coverage.expected);
  return {{"total", report.coverage.total_samples},
          {"evaluated", report.metrics.results.samples().count},
          {"ignored", report.metrics.results.counts.ignored},
          {"exactly_once", exactly_once(report)},
          {"coverage", std::move(coverage)}};
}

Json ids_json(const IdMatch& ids) {
  return {{"foreign", {{"count", ids.num_foreign}, {"first", ids.first_foreign}}},
          {"missing", {{"count", ids.num_missing}, {"first", ids.first_missing}}}};
}

Json digests_json(const RunReport& report) {
  return {{"state", report.digests.state},
          {"predictions", report.digests.predictions ? Json(*report.digests.predictions) : Json()},
          {"class", report.digests.digest_class},
          {"inputs", report.digests.inputs},
          {"comparable", report.digests.comparable}};
}

Json waste_json(const RunReport& report) {
  const auto waste = efficiency_losses(report);
  if (!waste) return {};
  return {{"rank_seconds", number_or_null(waste->rank_seconds)},
          {"startup", number_or_null(waste->startup)},
          {"wait_for_data", number_or_null(waste->wait_for_data)},
          {"wait_for_slowest_rank", number_or_null(waste->wait_for_slowest_rank)},
          {"publishing", number_or_null(waste->publishing)},
          {"useful", number_or_null(waste->useful)}};
}

Json stragglers_json(const std::vector<RankTimings>& ranks) {
  Json rows = Json::array();
  for (const auto& slow : stragglers_of(ranks)) {
    rows.push_back(
        {{"rank", slow.rank}, {"host", slow.host}, {"factor", number_or_null(slow.factor)}});
  }
  return rows;
}

Json timing_json(const RunReport& report) {
  Json phases = Json::object();
  for (const auto& phase : report.timing.phases) {
    // The key carries the unit, as all keys of times do.
    phases[phase.name + "_s"] = {{"min", number_or_null(phase.min_s)},
                                 {"mean", number_or_null(phase.mean_s)},
                                 {"max", number_or_null(phase.max_s)}};
  }
  const auto energy = energy_j(report.timing.ranks);
  return {{"wall_s", number_or_null(report.timing.wall_s)},
          {"startup_s", number_or_null(report.timing.startup_s)},
          {"steady_samples_per_s", number_or_null(report.timing.steady_samples_per_s)},
          {"overall_samples_per_s", number_or_null(overall_samples_per_s(report))},
          {"phases", std::move(phases)},
          {"waste", waste_json(report)},
          {"stragglers", stragglers_json(report.timing.ranks)},
          {"energy_j", number_or_null(energy)},
          {"energy_j_per_sample", number_or_null(energy_j_per_sample(report))}};
}

// Shares of the time of the loop. What no clock measures is `other`, so that they add up to 1.
Json loop_shares_json(const LoopTimes& loop) {
  if (!(loop.total_s > 0)) return {};
  const double named_s =
      loop.wait_s + loop.prepare_s + loop.forward_s + loop.metrics_s + loop.device_wait_s;
  const auto share = [&](double seconds) { return number_or_null(seconds / loop.total_s); };
  return {{"wait_for_data", share(loop.wait_s)},
          {"prepare", share(loop.prepare_s)},
          {"forward", share(loop.forward_s)},
          {"metrics", share(loop.metrics_s)},
          {"wait_for_device", share(loop.device_wait_s)},
          {"other", share(loop.total_s - named_s)}};
}

Json ranks_json(const std::vector<RankTimings>& ranks) {
  // Readers run beside the loop and their seconds add up, so that read_share may exceed 1. A rank
  // without a loop divides by 0, and its share becomes null.
  Json rows = Json::array();
  for (const auto& rank : ranks) {
    rows.push_back({{"rank", rank.rank},
                    {"host", rank.host},
                    {"device", rank.device},
                    {"gpu", rank.gpu.empty() ? Json() : Json(rank.gpu)},
                    {"samples", rank.samples},
                    {"read_s", number_or_null(rank.read_s)},
                    {"compute_s", number_or_null(rank.compute_s)},
                    {"wait_s", number_or_null(rank.wait_s)},
                    {"loop_s", number_or_null(rank.loop.total_s)},
                    {"loop_shares", loop_shares_json(rank.loop)},
                    {"read_share", number_or_null(rank.read_s / rank.loop.total_s)},
                    {"wait_for_ranks_s", number_or_null(rank.wait_for_ranks_s)},
                    {"bytes_read", rank.bytes_read},
                    {"bytes_needed", rank.bytes_needed},
                    {"energy_j", number_or_null(rank.energy_j)}});
  }
  return rows;
}

Json text_pairs_json(const std::vector<std::pair<std::string, std::string>>& pairs) {
  Json object = Json::object();
  for (const auto& [name, text] : pairs) object[name] = text;
  return object;
}

Json file_json(const InputFile& file, const char* digest_name) {
  return {{"path", file.path}, {"bytes", file.bytes}, {digest_name, file.digest}};
}

// Only the digest of all tensors is known of weights in several files.
Json weights_json(const WeightsFile& weights) {
  return {{"path", weights.path},
          {"bytes", weights.bytes},
          {"files", weights.num_files},
          {"sha256", weights.sha256.empty() ? Json() : Json(weights.sha256)},
          {"tensors_sha256", weights.tensors_sha256}};
}

Json inputs_json(const RunReport& report) {
  Json inputs = {{"model", file_json(report.inputs.model, "sha256")}};
  if (!report.inputs.model_source.empty()) {
    // The source comes from the model card. A text that is no JSON stays a text, for it must not
    // stop the report.
    Json source = Json::parse(report.inputs.model_source, nullptr, false);
    inputs["model"]["source"] = source.is_discarded() ? Json(report.inputs.model_source) : source;
  }
  if (report.inputs.weights) inputs["weights"] = weights_json(*report.inputs.weights);
  inputs["data"] = file_json(report.inputs.data, "identity");
  if (report.inputs.data_samples) inputs["data"]["samples"] = *report.inputs.data_samples;
  inputs["data"]["integrity"] = report.inputs.data_integrity;
  if (report.inputs.staged_bytes) inputs["data"]["staged_bytes"] = *report.inputs.staged_bytes;
  return inputs;
}

Json size_json(const std::optional<ImageSize>& size) {
  return size ? Json::array({size->height, size->width}) : Json();
}

Json word_json(const std::string& word) { return word.empty() ? Json() : Json(word); }

Json numbers_json(const std::optional<ImageNumbers>& numbers) {
  if (!numbers) return {};
  return {{"channels", numbers->channels},
          {"scale", numbers->scale},
          {"mean", numbers->mean},
          {"std", numbers->std}};
}

// A null stands for what the card or the data set does not say.
Json recipe_json(const ImageRecipe& recipe) {
  const auto& geometry = recipe.geometry;
  return {{"source", word_json(recipe.source)},
          {"normalisation", numbers_json(recipe.numbers)},
          {"size", size_json(recipe.size)},
          {"resize", size_json(geometry.resize)},
          {"crop_share", number_or_null(geometry.crop_share)},
          {"crop_mode", word_json(geometry.crop_mode)},
          {"interpolation", word_json(geometry.interpolation)}};
}

Json recipes_json(const ImageRecipes& recipes) {
  return {{"model", recipes.model ? recipe_json(*recipes.model) : Json()},
          {"data", recipe_json(recipes.data)},
          {"differences", recipes.differences}};
}

Json diagnosis_json(const std::vector<Diagnosis>& diagnosis) {
  Json rows = Json::array();
  for (const auto& one : diagnosis) rows.push_back({{"code", one.code}, {"text", one.text}});
  return rows;
}

}  // namespace

bool exactly_once(const RunReport& report) {
  return evidence_of(report.metrics.results) == report.coverage.expected;
}

std::string to_json(const RunReport& report) {
  const auto& build = build_info();
  Json json;
  json["tally"] = {
      {"version", build.version}, {"revision", build.revision}, {"report_schema", kReportSchema}};
  // No other status is ever written: the file gets its name when the whole result is there.
  json["status"] = "complete";
  json["task"] = report.metrics.task;
  json["samples"] = samples_json(report);
  // Only `tally score` matches the ids of what was saved with those of the data set.
  if (report.coverage.ids) json["ids"] = ids_json(*report.coverage.ids);
  json["units"] = {{"total", report.coverage.total_units},
                   {"scored", report.metrics.results.counts.scored}};
  json["metrics"] = metrics_json(report.metrics.results);
  json["per_class"] = per_class_json(report);
  const metrics::Results& results = report.metrics.results;
  if (!results.entity_types.empty()) json["entity_types"] = entity_types_json(results);
  json["groups"] = groups_json(report);
  json["ties"] = ties_json(report.metrics.results);
  json["non_finite"] = {{"count", report.metrics.results.counts.not_finite},
                        {"first_indices", report.metrics.not_finite_indices}};
  json["calibration"] = calibration_json(report);
  json["definitions"] = report.metrics.definitions;
  json["digests"] = digests_json(report);
  json["plan"] = {{"batch_size", report.execution.batch_size},
                  {"batches", report.execution.num_batches},
                  {"balance", number_or_null(report.execution.balance)}};
  json["reduction"] = {{"by", report.execution.reduction.by},
                       {"checked", report.execution.reduction.checked}};
  json["timing"] = timing_json(report);
  json["ranks"] = ranks_json(report.timing.ranks);
  json["text_files"] = report.text_files;
  json["config"] = text_pairs_json(report.provenance.settings);
  json["environment"] = text_pairs_json(report.provenance.environment);
  json["inputs"] = inputs_json(report);
  if (report.inputs.recipes) json["recipe"] = recipes_json(*report.inputs.recipes);
  json["diagnosis"] = diagnosis_json(report.diagnosis);
  json["notes"] = report.notes;
  return json_text(json, 2) + "\n";
}

}  // namespace tally::report
