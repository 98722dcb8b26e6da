// SPDX-License-Identifier: Apache-2.0
// report.json: names, order, units and values, also of hostile text and odd numbers.
#include <limits>
#include <random>

#include <nlohmann/json.hpp>

#include <tally/base/build_info.hpp>

#include "report_fixture.hpp"

namespace tally::report {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;

Json json_of(const RunReport& report) { return Json::parse(to_json(report)); }

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

TEST(ReportJson, HasTheDocumentedKeysInOrder) {
  const std::vector<std::string> expected{
      "tally",     "status",      "task",      "samples",    "units",       "metrics",
      "per_class", "groups",      "ties",      "non_finite", "calibration", "definitions",
      "digests",   "plan",        "reduction", "timing",     "ranks",       "text_files",
      "config",    "environment", "inputs",    "diagnosis",  "notes"};
  EXPECT_EQ(keys(json_of(small_report())), expected);
}

TEST(ReportJson, HoldsTheMetrics) {
  Json expected = Json::parse(R"({
    "tally": {"version": "", "revision": "", "report_schema": 1},
    "status": "complete", "task": "multiclass",
    "samples": {"total": 1234, "evaluated": 10, "ignored": 1, "exactly_once": true,
      "coverage": {"count": 10, "index_sum": "0x000000000000002d",
        "index_mix": "0xfedcba9876543210",
        "expected": {"count": 10, "index_sum": "0x000000000000002d",
          "index_mix": "0xfedcba9876543210"}}},
    "units": {"total": 1200, "scored": 9},
    "metrics": {
      "accuracy": {"value": 0.7777777777777778, "low": null, "high": null, "method": null},
      "loss": {"value": 0.1, "low": null, "high": null, "method": null},
      "precision_macro": {"value": null, "low": null, "high": null, "method": null}},
    "per_class": [
      {"class": 0, "name": "cat", "support": 4, "predicted": 5, "correct": 4, "precision": 0.8,
       "recall": 1.0, "f1": 0.8888888888888888, "intervals": {}},
      {"class": 1, "name": "dog", "support": 5, "predicted": 4, "correct": 3, "precision": 0.75,
       "recall": 0.6, "f1": 0.6666666666666666, "intervals": {}},
      {"class": 2, "name": "bird", "support": 0, "predicted": 0, "correct": 0, "precision": null,
       "recall": null, "f1": null, "intervals": {}}],
    "groups": {}, "ties": {"label_tied": 2, "bounds": {}},
    "non_finite": {"count": 0, "first_indices": []},
    "calibration": [], "definitions": "torchmetrics",
    "digests": {"state": "A", "predictions": "B", "class": "C", "inputs": "F", "comparable": true},
    "plan": {"batch_size": 4, "batches": 3, "balance": 0.75},
    "reduction": {"by": "mpi", "checked": true},
    "timing": {"wall_s": 1.5, "startup_s": 0.25, "steady_samples_per_s": 33333.333333333336,
      "overall_samples_per_s": 6.666666666666667,
      "phases": {"load_model_s": {"min": 0.1, "mean": 0.2, "max": 0.3},
        "evaluate_s": {"min": 1.0, "mean": 2.0, "max": 3.0}},
      "waste": null, "stragglers": [], "energy_j": null, "energy_j_per_sample": null},
    "ranks": [
      {"rank": 0, "host": "node1", "device": "cpu: EPYC", "gpu": null, "samples": 8, "read_s": 0.1,
       "compute_s": 0.2, "wait_s": 0.3, "loop_s": 2.0,
       "loop_shares": {"wait_for_data": 0.25, "prepare": 0.0625, "forward": 0.5, "metrics": 0.125,
         "wait_for_device": 0.0, "other": 0.0625},
       "read_share": 0.05, "wait_for_ranks_s": 0.75, "bytes_read": 4096, "bytes_needed": 4000,
       "energy_j": null},
      {"rank": 1, "host": "node2", "device": "cuda: H200", "gpu": "GPU-1", "samples": 2, "read_s": 0.0,
       "compute_s": 0.0, "wait_s": 0.0, "loop_s": 0.0, "loop_shares": null, "read_share": null,
       "wait_for_ranks_s": 0.0, "bytes_read": 0, "bytes_needed": 0, "energy_j": 20.0}],
    "text_files": [], "config": {"model": "m.pt", "batch-size": "4"},
    "environment": {"libtorch": "2.11.0", "model_form": "TorchScript, frozen"},
    "inputs": {"model": {"path": "m.pt", "bytes": 1000, "sha256": "D"},
      "data": {"path": "d.h5", "bytes": 2000000, "identity": "E", "integrity": "unchecked"}},
    "diagnosis": [{"code": "chance", "text": "It guesses"}], "notes": ["a note"]})");
  expected["tally"].update(
      {{"version", build_info().version}, {"revision", build_info().revision}});
  for (const auto& [name, letter] :
       {std::pair("state", 'a'), {"predictions", 'b'}, {"class", 'c'}, {"inputs", 'f'}}) {
    expected["digests"][name] = std::string(64, letter);
  }
  expected["inputs"]["model"]["sha256"] = std::string(64, 'd');
  expected["inputs"]["data"]["identity"] = std::string(64, 'e');
  expected["timing"]["waste"] = json_of(small_report())["timing"]["waste"];
  EXPECT_EQ(to_json(small_report()), expected.dump(2) + "\n");
}

TEST(ReportJson, HoldsWhereTheTimeWent) {
  const Json expected = Json::parse(R"({"rank_seconds": 5.0, "startup": 0.08, "wait_for_data": 0.12,
    "wait_for_slowest_rank": 0.0, "publishing": 0.12, "useful": 0.68})");
  const Json waste = json_of(small_report())["timing"]["waste"];
  EXPECT_EQ(keys(waste), keys(expected));
  for (const auto& [name, value] : expected.items()) {
    EXPECT_NEAR(waste[name].get<double>(), value.get<double>(), 1e-12) << name;
  }
}

TEST(ReportJson, NamesSlowRanksAndEnergy) {
  RunReport report = small_report();
  report.timing.ranks[1].samples = 8;
  report.timing.ranks[1].loop.total_s = 6;
  for (auto& rank : report.timing.ranks) rank.gpu = "GPU-1";
  const Json timing = json_of(report)["timing"];
  EXPECT_EQ(timing["stragglers"], Json::parse(R"([{"rank": 1, "host": "node2", "factor": 1.5}])"));
  EXPECT_EQ(timing["energy_j"], 20.0);
  EXPECT_EQ(timing["energy_j_per_sample"], 2.0);
}

TEST(ReportJson, HoldsIntervalsTiesAndBins) {
  RunReport report = small_report();
  auto& results = report.metrics.results;
  results.metrics[0].interval = metrics::Interval{0.5, 0.9, "wilson"};
  results.per_class[0].values[1].interval = metrics::Interval{0.25, 1.0, "wilson"};
  results.tie_bounds = {{"accuracy", 0.8, 0.7}};
  results.reliability = {{0.0, 0.5, 0, 0, std::nullopt}, {0.5, 1.0, 9, 7, 0.75}};
  results.counts.not_finite = 2;
  report.metrics.not_finite_indices = {3, 8};

  const Json json = json_of(report);
  EXPECT_EQ(json["metrics"]["accuracy"],
            Json::parse(R"({"value": 0.7777777777777778, "low": 0.5, "high": 0.9,
                            "method": "wilson"})"));
  EXPECT_EQ(json["per_class"][0]["intervals"], Json::parse(R"({"recall": [0.25, 1.0]})"));
  EXPECT_EQ(json["ties"]["bounds"]["accuracy"],
            Json::parse(R"({"optimistic": 0.8, "pessimistic": 0.7})"));
  EXPECT_EQ(json["calibration"],
            Json::parse(R"([{"low": 0.0, "high": 0.5, "count": 0, "correct": 0, "confidence": null},
                            {"low": 0.5, "high": 1.0, "count": 9, "correct": 7,
                             "confidence": 0.75}])"));
  EXPECT_EQ(json["non_finite"], Json::parse(R"({"count": 2, "first_indices": [3, 8]})"));
}

TEST(ReportJson, HoldsTypesOfEntitiesWhereThereAreAny) {
  RunReport report = small_report();
  EXPECT_FALSE(json_of(report).contains("entity_types"));
  report.metrics.results.entity_types = {{"PER", 4, 5, 2, 0.4, 0.5, 0.25},
                                         {"LOC", 0, 1, 0, 0.0, std::nullopt, 0.0}};
  const Json json = json_of(report);
  EXPECT_EQ(json["entity_types"].dump(),
            R"([{"type":"PER","support":4,"predicted":5,"correct":2,"precision":0.4,)"
            R"("recall":0.5,"f1":0.25},{"type":"LOC","support":0,"predicted":1,"correct":0,)"
            R"("precision":0.0,"recall":null,"f1":0.0}])");
  EXPECT_EQ(keys(json)[7], "entity_types") << "behind per_class";
}

TEST(ReportJson, HoldsThresholdsOfOperatingPointsOnly) {
  RunReport report = small_report();
  auto& results = report.metrics.results;
  const auto point = [](std::optional<double> value, std::optional<float> score) {
    return metrics::MetricValue{
        .name = "recall_at_precision_0.9", .value = value, .threshold = metrics::Threshold{score}};
  };
  results.metrics.push_back(point(0.5, 0.7F));
  results.per_class[0].values.push_back(point(0.25, 0.1F));
  results.per_class[1].values.push_back(point(0, std::nullopt));

  const Json json = json_of(report);
  const Json entry = json["metrics"]["recall_at_precision_0.9"];
  EXPECT_EQ(entry["value"], 0.5);
  EXPECT_EQ(entry["threshold"].get<float>(), 0.7F);
  EXPECT_FALSE(json["metrics"]["accuracy"].contains("threshold"));
  EXPECT_EQ(json["per_class"][0]["thresholds"]["recall_at_precision_0.9"].get<float>(), 0.1F);
  EXPECT_TRUE(json["per_class"][1]["thresholds"]["recall_at_precision_0.9"].is_null());
  EXPECT_FALSE(json["per_class"][2].contains("thresholds"));
}

TEST(ReportJson, HoldsSubgroupsAndWhereTheyAreWorst) {
  RunReport report = small_report();
  const auto of_group = [](std::int32_t value, double accuracy, double loss) {
    GroupMetrics::Value made{value, {}};
    made.results.units.count = made.results.counts.scored = 5;
    made.results.metrics = {{"accuracy", accuracy}, {"loss", loss}};
    return made;
  };
  report.metrics.groups = {{"camera", {of_group(-1, 0.5, 0.1), of_group(4, 0.75, 0.9)}}};

  const Json camera = json_of(report)["groups"]["camera"];
  EXPECT_EQ(camera["worst"], Json::parse(R"({"accuracy": {"group": -1, "value": 0.5},
                                             "loss": {"group": 4, "value": 0.9}})"));
  EXPECT_EQ(camera["values"][1]["value"], 4);
  EXPECT_EQ(camera["values"][1]["samples"], 5);
  EXPECT_EQ(camera["values"][1]["metrics"]["accuracy"]["value"], 0.75);
}

TEST(ReportJson, OptionalParts) {
  RunReport report = small_report();
  report.digests.predictions.reset();
  report.timing.steady_samples_per_s.reset();
  report.digests.comparable = false;
  report.metrics.class_names.clear();
  report.inputs.weights = WeightsFile{"w.safetensors", 5, 1, "f", "e"};
  report.inputs.model_source = R"({"commit": "abc", "weights": null})";
  report.inputs.data_integrity = "checked";
  report.inputs.data_samples = "abcd";
  report.text_files = {"detections.json"};
  const Json json = json_of(report);
  EXPECT_TRUE(json["digests"]["predictions"].is_null());
  EXPECT_TRUE(json["timing"]["steady_samples_per_s"].is_null());
  EXPECT_EQ(json["digests"]["comparable"], false);
  EXPECT_TRUE(json["per_class"][0]["name"].is_null());
  EXPECT_EQ(json["inputs"]["weights"],
            Json::parse(R"({"path": "w.safetensors", "bytes": 5, "files": 1,
                                                       "sha256": "f", "tensors_sha256": "e"})"));
  report.inputs.weights->sha256.clear();
  EXPECT_TRUE(json_of(report)["inputs"]["weights"]["sha256"].is_null());
  EXPECT_EQ(json["inputs"]["model"]["source"], Json::parse(report.inputs.model_source));
  EXPECT_EQ(json["inputs"]["data"]["integrity"], "checked");
  EXPECT_EQ(json["inputs"]["data"]["samples"], "abcd");
  EXPECT_EQ(json["text_files"], Json::array({"detections.json"}));
  report.inputs.model_source = "not { json";
  EXPECT_EQ(json_of(report)["inputs"]["model"]["source"], "not { json");
}

TEST(ReportJson, RecipesOfModelAndData) {
  RunReport report = small_report();
  EXPECT_FALSE(json_of(report).contains("recipe"));
  ImageRecipes recipes;
  recipes.data.size = ImageSize{32, 48};
  recipes.data.numbers = ImageNumbers{"L", 1.0, {0.5}, {2.0}};
  report.inputs.recipes = recipes;
  EXPECT_TRUE(json_of(report)["recipe"]["model"].is_null());
  recipes.model = ImageRecipe{.source = "timm:a.b", .numbers = {}, .size = {}, .geometry = {}};
  recipes.model->geometry = {ImageSize{36, 36}, ImageSize{32, 32}, 0.9, "squash", "bicubic"};
  recipes.differences = {"size"};
  report.inputs.recipes = recipes;
  EXPECT_EQ(json_of(report)["recipe"], Json::parse(R"({
    "model": {"source": "timm:a.b", "normalisation": null, "size": null, "resize": [36, 36],
              "crop_share": 0.9, "crop_mode": "squash", "interpolation": "bicubic"},
    "data": {"source": null,
             "normalisation": {"channels": "L", "scale": 1.0, "mean": [0.5], "std": [2.0]},
             "size": [32, 48], "resize": null, "crop_share": null, "crop_mode": null,
             "interpolation": null},
    "differences": ["size"]})"));
}

TEST(ReportJson, EvidenceThatDiffersInOneMetricIsNotExactlyOnce) {
  for (int metric = 0; metric < 3; ++metric) {
    RunReport report = small_report();
    EXPECT_TRUE(exactly_once(report));
    if (metric == 0) report.metrics.results.units.count += 1;
    if (metric == 1) report.metrics.results.units.index_sum += 1;
    if (metric == 2) report.metrics.results.units.index_mix ^= 1;
    EXPECT_FALSE(exactly_once(report));
    EXPECT_EQ(json_of(report)["samples"]["exactly_once"], false);
  }
}

TEST(ReportJson, NumbersThatJsonCannotHoldAreNull) {
  RunReport report = small_report();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  report.metrics.results.metrics = {{"loss", nan}, {"accuracy", -infinity}};
  report.timing.wall_s = infinity;
  report.execution.balance = nan;
  const Json json = json_of(report);
  EXPECT_TRUE(json["metrics"]["loss"]["value"].is_null());
  EXPECT_TRUE(json["metrics"]["accuracy"]["value"].is_null());
  EXPECT_TRUE(json["timing"]["wall_s"].is_null());
  EXPECT_TRUE(json["plan"]["balance"].is_null());
  EXPECT_THAT(to_json(report), Not(HasSubstr("nan")));
}

TEST(ReportJson, DoublesComeBackBitForBit) {
  std::mt19937_64 random(7);
  RunReport report = small_report();
  report.metrics.results.metrics.clear();
  for (int i = 0; i < 2000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (std::isfinite(value)) report.metrics.results.metrics.push_back({format("m{}", i), value});
  }
  for (const Json json = json_of(report); const auto& metric : report.metrics.results.metrics) {
    const auto back = json["metrics"][metric.name]["value"].get<double>();
    EXPECT_EQ(std::bit_cast<std::uint64_t>(back), std::bit_cast<std::uint64_t>(*metric.value));
  }
}

TEST(ReportJson, HostileTextIsEscapedAndNeverThrows) {
  RunReport report = small_report();
  report.metrics.class_names = {"a\"\\\n\x1b[2J", "\xff\xfe", std::string("nul\0x", 5)};
  report.inputs.model.path = "caf\xe9.pt";
  report.notes = {"\xed\xa0\x80"};
  report.provenance.settings = {{"data", "\x80"}};
  for (const char c : to_json(report))
    EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  const Json json = json_of(report);
  EXPECT_EQ(json["per_class"][0]["name"], "a\"\\\n\x1b[2J");
  EXPECT_EQ(json["per_class"][1]["name"], "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(json["per_class"][2]["name"], std::string("nul\0x", 5));
  EXPECT_EQ(json["inputs"]["model"]["path"], "caf\xef\xbf\xbd.pt");
}

}  // namespace
}  // namespace tally::report
