// SPDX-License-Identifier: Apache-2.0
// How a run was judged, as its file says it; which metrics two runs can be compared by.
#include "scoring_settings.hpp"

#include <gmock/gmock.h>

#include "comparable_metrics.hpp"
#include "expect_error.hpp"
#include "run_file.hpp"

namespace tally::compare {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ScoringSettingsTest : public RunFilesTest {
 protected:
  ScoringSettingsTest() { run_.column<std::int64_t>("index", {0, 1}); }

  ScoringSettings settings_of(const RunFile& run) { return scoring_settings(SavedRun(write(run))); }
  // Into a new folder.
  std::filesystem::path write(const RunFile& run) {
    return run.write(in("run" + std::to_string(++num_written_)));
  }

  RunFile run_{"multilabel", 4};

 private:
  int num_written_ = 0;
};

TEST_F(ScoringSettingsTest, AreThoseOfTheAttributes) {
  run_.attribute("ignore_index", "-9223372036854775808")
      .attribute("definitions", "sklearn")
      .attribute("calibration_bins", "20")
      .attribute("class_weights_sha256", "abcd")
      .attribute("outputs", "log-probabilities")
      .attribute("threshold", "0.3")
      .attribute("curves", "bf16");
  const ScoringSettings settings = settings_of(run_);
  EXPECT_EQ(settings.num_classes, 4);
  EXPECT_EQ(settings.ignore_index, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(settings.definitions, metrics::Definitions::sklearn);
  EXPECT_EQ(settings.calibration_bins, 20);
  EXPECT_TRUE(settings.has_class_weights);
  EXPECT_EQ(settings.outputs, metrics::OutputKind::log_probabilities);
  EXPECT_EQ(settings.threshold, 0.3);
  EXPECT_EQ(settings.curves, ordered_metrics::ScoreKeys::bfloat16);
}

TEST_F(ScoringSettingsTest, SomeNeedNotBeThere) {
  const ScoringSettings settings = settings_of(run_.without("curves"));
  EXPECT_EQ(settings.ignore_index, std::nullopt);
  EXPECT_FALSE(settings.has_class_weights);
  EXPECT_EQ(settings.curves, std::nullopt);
  // A task without labels that are judged one by one has no threshold.
  EXPECT_EQ(settings_of(RunFile("regression", 1).column<std::int64_t>("index", {})).threshold, 0.5);
}

TEST_F(ScoringSettingsTest, OnlyLossesOfClassesAreSmoothed) {
  RunFile classes("multiclass", 4);
  classes.column<std::int64_t>("index", {0, 1}).attribute("label_smoothing", "0.125");
  EXPECT_EQ(settings_of(classes).label_smoothing, 0.125);
  for (const char* text : {"-0.1", "1", "nan"}) {
    classes.attribute("label_smoothing", text);
    expect_error(ErrorKind::dataset,
                 {"label_smoothing = '" + std::string(text), "from 0 to below 1"},
                 [&] { settings_of(classes); });
  }
}

const std::vector<Refusal> kBadSettings{
    {"Classes", [](RunFile& run) { run.attribute("num_classes", "7x"); },
     "attribute num_classes = '7x', expected a number from 1 to 1048576"},
    {"NoClass", [](RunFile& run) { run.attribute("num_classes", "0"); }, "num_classes = '0'"},
    {"TooManyClasses", [](RunFile& run) { run.attribute("num_classes", "1048577"); },
     "num_classes = '1048577'"},
    {"ClassesOfATerminal", [](RunFile& run) { run.attribute("num_classes", "\x1b[2J"); },
     "num_classes = '\\x1b[2J'"},
    {"NoNumberOfClasses", [](RunFile& run) { run.without("num_classes"); },
     "has no attribute 'num_classes'. Evaluate again with this version of tally."},
    {"IgnoredIndex", [](RunFile& run) { run.attribute("ignore_index", "9223372036854775808"); },
     "ignore_index = '9223372036854775808'"},
    {"NoBins", [](RunFile& run) { run.attribute("calibration_bins", "0"); },
     "calibration_bins = '0', expected a number from 1 to 1000"},
    {"TooManyBins", [](RunFile& run) { run.attribute("calibration_bins", "1001"); },
     "calibration_bins = '1001'"},
    {"SmoothingThatNoLossHas", [](RunFile& run) { run.attribute("label_smoothing", "0.1"); },
     "label_smoothing = '0.1', expected 0"},
    {"SmoothingThatIsNaN", [](RunFile& run) { run.attribute("label_smoothing", "nan"); },
     "label_smoothing = 'nan'"},
    {"Threshold", [](RunFile& run) { run.attribute("threshold", "1.5"); },
     "threshold = '1.5', expected a number from 0 to below 1"},
    {"ThresholdOfOne", [](RunFile& run) { run.attribute("threshold", "1"); }, "threshold = '1'"},
    {"NoThreshold", [](RunFile& run) { run.without("threshold"); }, "no attribute 'threshold'"},
    {"Definitions", [](RunFile& run) { run.attribute("definitions", "mi\nne"); },
     "attribute definitions: "},
    {"Outputs", [](RunFile& run) { run.attribute("outputs", "scores"); }, "attribute outputs: "},
    {"Curves", [](RunFile& run) { run.attribute("curves", "fine"); },
     "attribute curves: 'fine' is no way to make curves"},
};

class BadSettingsTest : public ScoringSettingsTest, public testing::WithParamInterface<Refusal> {};

TEST_P(BadSettingsTest, AreRefused) {
  GetParam().spoil(run_);
  expect_error(ErrorKind::dataset, {"predictions.h5", GetParam().text}, [&] { settings_of(run_); });
}
INSTANTIATE_TEST_SUITE_P(Refusals, BadSettingsTest, testing::ValuesIn(kBadSettings), case_name);

TEST_F(ScoringSettingsTest, ABinaryTaskHasTwoClasses) {
  RunFile binary("binary", 3);
  binary.column<std::int64_t>("index", {0});
  expect_error(ErrorKind::dataset, {"num_classes = '3', expected 2"}, [&] { settings_of(binary); });
}

// Two runs that are open, and what is chosen for them.
class ChosenMetricsTest : public ScoringSettingsTest {
 protected:
  struct Chosen {
    metrics::MetricOptions options;
    ReadPair pair;
  };
  // No metric but "brier" lacks anything, which is what it "needs".
  Chosen choose(const RunFile& b, const std::vector<std::string>& asked) {
    const SavedRun run_a(write(run_));
    const SavedRun run_b(write(b));
    Chosen chosen;
    chosen.options = choose_metrics(
        "multilabel", {KnownRun(run_a), KnownRun(run_b)}, asked,
        [](const std::string& metric) -> std::optional<std::string> {
          if (metric == "brier") return "needs more";
          return std::nullopt;
        },
        chosen.pair);
    return chosen;
  }
};

TEST_F(ChosenMetricsTest, WhatCannotBeComparedIsLeftOutOfTheStandardSet) {
  const Chosen chosen = choose(run_, {});
  EXPECT_THAT(chosen.options.names, testing::Contains("exact_match"));
  EXPECT_THAT(chosen.options.names, testing::Not(testing::Contains("brier")));
  ASSERT_EQ(chosen.pair.left_out.size(), 1U);
  EXPECT_EQ(chosen.pair.left_out[0].metric, "brier");
  EXPECT_EQ(chosen.pair.left_out[0].reason, "needs more");
  EXPECT_THAT(chosen.pair.notes, IsEmpty());
}

TEST_F(ChosenMetricsTest, WhatIsAskedForByNameIsCompared) {
  EXPECT_THAT(choose(run_, {"loss", "accuracy"}).options.names, ElementsAre("accuracy", "loss"));
}

TEST_F(ChosenMetricsTest, WhatIsAskedForByNameAndCannotBeComparedIsRefused) {
  expect_error(ErrorKind::usage, {"metric 'brier' needs more. Leave it out of --metrics"}, [&] {
    choose(run_, {"loss", "brier"});
  });
}

TEST_F(ChosenMetricsTest, TablesAreNoMetricsToCompare) {
  const Chosen chosen = choose(run_, {"all"});
  EXPECT_THAT(chosen.options.names, testing::Each(testing::Not(HasSubstr("confusion"))));
  EXPECT_EQ(chosen.pair.left_out.size(), 1U) << "nobody misses a table";
  expect_error(ErrorKind::usage, {"metric 'confusion_matrix' is no single metric"},
               [&] { choose(run_, {"confusion_matrix"}); });
}

TEST_F(ChosenMetricsTest, NothingToCompareIsRefused) {
  expect_error(ErrorKind::usage, {"--metrics leaves nothing to compare"},
               [&] { choose(run_, {"none"}); });
}

TEST_F(ChosenMetricsTest, UnknownMetricsAreRefused) {
  expect_error(ErrorKind::usage, {"exact_mach", "Did you mean 'exact_match'?"},
               [&] { choose(run_, {"exact_mach"}); });
}

TEST_F(ChosenMetricsTest, OtherClassesAreRefused) {
  expect_error(ErrorKind::dataset, {"differ in num_classes or ignore_index"},
               [&] { choose(RunFile(run_).attribute("num_classes", "5"), {}); });
}

TEST_F(ChosenMetricsTest, OtherSettingsAreNotedWhereAMetricDependsOnThem) {
  RunFile other = run_;
  other.attribute("definitions", "sklearn").attribute("threshold", "0.25");
  other.attribute("calibration_bins", "10").attribute("curves", "bf16");
  const std::string definitions =
      "B was evaluated with --definitions sklearn; both are compared by A's, torchmetrics";
  const std::string threshold =
      "B was evaluated with --threshold 0.25; both are compared at A's, 0.5";
  EXPECT_THAT(choose(other, {"accuracy"}).pair.notes, ElementsAre(definitions, threshold));
  EXPECT_THAT(choose(other, {"auroc_macro"}).pair.notes,
              ElementsAre(definitions, threshold,
                          "B was evaluated with --curves bf16; both are compared by A's, exact"));
}

TEST_F(ChosenMetricsTest, CurvesHaveALimitAndMustSayHowTheyWereMade) {
  const SavedRun says(write(run_));
  const SavedRun silent(write(run_.without("curves")));
  const TwoRuns runs{KnownRun(says), KnownRun(says)};
  constexpr std::int64_t kMost = std::int64_t{1} << 28;
  EXPECT_EQ(obstacle_of_curves(runs, kMost), std::nullopt);
  EXPECT_EQ(obstacle_of_curves(runs, kMost + 1),
            "is made of 268435457 scores in order, more than the 268435456 that compare holds");
  EXPECT_EQ(obstacle_of_curves({KnownRun(says), KnownRun(silent)}, 4),
            "was made as --curves says, which is not in B; another evaluation gives it");
  EXPECT_THAT(obstacle_of_curves({KnownRun(silent), KnownRun(silent)}, 4).value(),
              HasSubstr("not in A and B;"));
}

TEST(LackOfColumn, NamesTheOptionThatGivesIt) {
  EXPECT_EQ(lack_of_column("logits", "A"),
            "needs the column 'logits', missing in A; --save labels,logits gives it");
  EXPECT_EQ(lack_of_column("probabilities", "A and B", true),
            "needs the column 'probabilities' (or 'logits'), missing in A and B; "
            "--save labels,probabilities gives it");
}

}  // namespace
}  // namespace tally::compare
