// SPDX-License-Identifier: Apache-2.0
// The JSON of a comparison: its keys and their order, what is null, text that is not UTF-8.
#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>

#include <tally/compare/comparison_json.hpp>

#include "changes_json.hpp"

namespace tally::compare {
namespace {

using testing::ElementsAre;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

Json json_of(const Comparison& comparison) { return Json::parse(to_json(comparison)); }

// Two better figures, one that is undefined, and one changed sample.
Comparison made() {
  Comparison comparison;
  comparison.task = "multiclass";
  comparison.a = {"runs/a", "net.pt", "aaaa", "", "1111"};
  comparison.b = {"runs/b", "net.pt", "aaaa", "bbbb", "2222"};
  comparison.samples.path = "val.h5";
  comparison.samples.identity = "cccc";
  comparison.samples.count = 110;
  comparison.samples.ignored = 10;
  comparison.definitions = "sklearn";
  comparison.options = {.replicates = 300, .seed = 7};
  comparison.samples.class_names = {"cat", "dog"};
  comparison.outcomes = Outcomes{.metric = "accuracy", .table = {60, 5, 0, 35}};
  comparison.metrics.push_back({.name = "accuracy",
                                .a = 0.65,
                                .b = 0.6,
                                .difference = -0.05,
                                .interval = metrics::Interval{-0.1, -0.01, "newcombe"}});
  comparison.metrics.push_back({.name = "loss",
                                .less_is_better = true,
                                .a = 1.5,
                                .b = 1.25,
                                .difference = -0.25,
                                .interval = metrics::Interval{-0.5, -0.125, "bootstrap"}});
  comparison.metrics.push_back({.name = "mcc", .a = 0.5});
  comparison.left_out.push_back({"brier", "needs more"});
  comparison.notes = {"one", "two"};
  comparison.changes =
      ClassChanges{.counts = {.right_to_wrong = 5, .wrong_to_other_wrong = 1},
                   .first = {{.index = 4, .label = 1, .a = {1, 0.5}, .b = {-1, kNan}}}};
  return comparison;
}

TEST(CompareJson, KeysHaveTheOrderOfTheDocument) {
  const Json json = json_of(made());
  EXPECT_THAT(keys_of(json), ElementsAre("tally", "task", "a", "b", "data", "samples",
                                         "definitions", "bootstrap", "accuracy", "exact_match",
                                         "metrics", "left_out", "changes", "conclusion", "notes"));
  EXPECT_EQ(json["tally"]["compare_schema"], 1);
  EXPECT_THAT(keys_of(json["tally"]), ElementsAre("version", "revision", "compare_schema"));
  EXPECT_THAT(keys_of(json["metrics"]), ElementsAre("accuracy", "loss", "mcc"));
  EXPECT_THAT(keys_of(json["metrics"]["loss"]), ElementsAre("a", "b", "difference", "low", "high",
                                                            "method", "less_is_better", "better"));
}

TEST(CompareJson, SaysWhatWasCompared) {
  const Json json = json_of(made());
  EXPECT_EQ(json["task"], "multiclass");
  EXPECT_EQ(json["a"], (Json{{"path", "runs/a"},
                             {"model", "net.pt"},
                             {"model_sha256", "aaaa"},
                             {"weights_sha256", nullptr},
                             {"predictions_digest", "1111"}}));
  EXPECT_EQ(json["b"]["weights_sha256"], "bbbb");
  EXPECT_EQ(json["data"], (Json{{"path", "val.h5"}, {"identity", "cccc"}}));
  EXPECT_EQ(json["samples"], (Json{{"total", 110}, {"scored", 100}, {"ignored", 10}}));
  EXPECT_EQ(json["definitions"], "sklearn");
  EXPECT_EQ(json["bootstrap"], (Json{{"replicas", 300}, {"seed", 7}}));
  EXPECT_EQ(json["left_out"], Json::parse(R"([{"metric": "brier", "reason": "needs more"}])"));
  EXPECT_EQ(json["notes"], Json::parse(R"(["one", "two"])"));
}

TEST(CompareJson, TheTableIsOfTheMetricThatIsTheShareOfRightSamples) {
  Comparison comparison = made();
  const Json of_classes = json_of(comparison);
  EXPECT_TRUE(of_classes["exact_match"].is_null());
  EXPECT_EQ(of_classes["accuracy"], (Json{{"both_right", 60},
                                          {"only_a_right", 5},
                                          {"only_b_right", 0},
                                          {"neither_right", 35},
                                          {"mcnemar_p", 2.0 / 32}}));
  comparison.outcomes->metric = comparison.metrics[0].name = "exact_match";
  EXPECT_TRUE(json_of(comparison)["accuracy"].is_null());
  EXPECT_EQ(json_of(comparison)["exact_match"], of_classes["accuracy"]);
  comparison.outcomes.reset();
  EXPECT_TRUE(json_of(comparison)["exact_match"].is_null());
}

TEST(CompareJson, FiguresNameTheBetterSide) {
  const Json metrics = json_of(made())["metrics"];
  EXPECT_EQ(metrics["accuracy"]["better"], "a");
  EXPECT_EQ(metrics["accuracy"]["method"], "newcombe");
  EXPECT_EQ(metrics["loss"]["better"], "b");
  EXPECT_EQ(metrics["loss"]["less_is_better"], true);
  EXPECT_EQ(metrics["loss"]["low"], -0.5);
  EXPECT_EQ(metrics["loss"]["high"], -0.125);
  EXPECT_EQ(metrics["mcc"], Json::parse(R"({"a": 0.5, "b": null, "difference": null, "low": null,
      "high": null, "method": null, "less_is_better": false, "better": null})"));
}

TEST(CompareJson, TheConclusionIsThatOfTheText) {
  const Comparison comparison = made();
  const Json json = json_of(comparison)["conclusion"];
  EXPECT_TRUE(json["better"].is_null()) << "McNemar's test decides: p = 0.0625";
  EXPECT_EQ(json["metric"], "accuracy");
  EXPECT_EQ(json["sentence"], conclude(comparison).sentence);
}

TEST(CompareJson, WhatIsNotFiniteIsNull) {
  EXPECT_EQ(number_or_null(0.25), Json(0.25));
  EXPECT_TRUE(number_or_null(std::nullopt).is_null());
  for (const float value : {kNan, kInf, -kInf}) EXPECT_TRUE(number_or_null(value).is_null());
}

// Numbers come back bit for bit.
TEST(CompareJson, NumbersKeepAllTheirDigits) {
  Comparison comparison = made();
  comparison.metrics[1].difference = 0.1 + 0.2;
  EXPECT_EQ(json_of(comparison)["metrics"]["loss"]["difference"], 0.1 + 0.2);
}

TEST(CompareJson, PathsThatAreNotUtf8DoNotStopIt) {
  Comparison comparison = made();
  comparison.a.path = "r\xff\"\n";
  comparison.samples.names[4] = "s\xff";
  const std::string text = to_json(comparison);
  EXPECT_EQ(Json::parse(text)["a"]["path"], "r\ufffd\"\n");
  EXPECT_EQ(Json::parse(text)["changes"]["first"][0]["sample_name"], "s\ufffd");
  EXPECT_EQ(text.back(), '\n');
}

TEST(ChangesJson, OfClasses) {
  const Json json = changes_json(made().changes, {"cat", "dog"});
  EXPECT_EQ(json, Json::parse(R"({"right_to_wrong": 5, "wrong_to_right": 0,
      "wrong_to_other_wrong": 1, "first": [{"index": 4, "sample_name": null, "label": 1, "label_name": "dog",
      "a": {"prediction": 1, "name": "dog", "confidence": 0.5},
      "b": {"prediction": -1, "name": null, "confidence": null}}]})"));
  EXPECT_TRUE(changes_json(made().changes, {"cat"})["first"][0]["label_name"].is_null());
  EXPECT_EQ(changes_json(ClassChanges{}, {})["first"], Json::array());
}

TEST(ChangesJson, OfSetsOfLabels) {
  const LabelSetChanges changes{
      .counts = {.wrong_to_right = 1},
      .first = {{.index = 7,
                 .scored = 3,
                 .labels = {0, 2},
                 .a = {.labels = std::vector<std::int64_t>{1}, .right = 0},
                 .b = {.labels = std::nullopt, .right = 0}}}};
  EXPECT_EQ(changes_json(changes, {"cat", "dog"}, {{7, "a/7.png"}, {8, "b"}}),
            Json::parse(R"({"right_to_wrong": 0,
      "wrong_to_right": 1, "wrong_to_other_wrong": 0, "first": [{"index": 7, "sample_name": "a/7.png",
      "label": [0, 2],
      "label_name": ["cat", null], "labels_scored": 3,
      "a": {"prediction": [1], "name": ["dog"], "labels_right": 0},
      "b": {"prediction": null, "name": null, "labels_right": 0}}]})"));
}

TEST(ChangesJson, OfValues) {
  const ValueChanges changes{.closer = 1,
                             .farther = 2,
                             .first = {{.index = 3,
                                        .targets = {1, 2},
                                        .a = {.values = {1.5F, 2}, .error = 0.25},
                                        .b = {.values = {kNan, 2}, .error = double{kInf}}}}};
  EXPECT_EQ(changes_json(changes, {}), Json::parse(R"({"closer": 1, "farther": 2, "first": [
      {"index": 3, "sample_name": null, "label": [1.0, 2.0], "a": {"prediction": [1.5, 2.0], "error": 0.25},
       "b": {"prediction": [null, 2.0], "error": null}, "change": null}]})"));
}

}  // namespace
}  // namespace tally::compare
