// SPDX-License-Identifier: Apache-2.0
// The table for people: what it says, what it leaves out, how wide it is.
#include "report_fixture.hpp"

namespace tally::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Table, ReadsLikeThis) {
  const std::string table = to_table(small_report(), "runs/one");
  EXPECT_EQ(table.substr(table.find(": ") + 2),
            "m.pt on d.h5\n"
            "\n"
            "  accuracy                       0.777778    77.78 %   7 of 9\n"
            "  loss                           0.100000\n"
            "  precision_macro               undefined\n"
            "\n"
            "  class                    support predicted   correct precision    recall        f1\n"
            "  0 cat                          4         5         4    0.8000    1.0000    0.8889\n"
            "  1 dog                          5         4         3    0.7500    0.6000    0.6667\n"
            "  2 bird                         0         0         0         -         -         -\n"
            "\n"
            "Samples   10 of 1,234 evaluated, each exactly once\n"
            "          1 ignored\n"
            "          2 with a tie between the true class and another\n"
            "          data unchecked: the data set has no checksums\n"
            "Form      TorchScript, frozen\n"
            "Time      1.50 s, of it 0.25 s start-up; 33,333/s steady; 2 ranks\n"
            "          lost: 8 % start-up, 12 % waiting for data, 0 % for the slowest rank, "
            "12 % publishing\n"
            "Digests   state aaaaaaaaaaaaaaaa…, predictions bbbbbbbbbbbbbbbb…\n"
            "Results   runs/one\n"
            "          report.json, metrics.h5, predictions.h5, events.jsonl\n"
            "\n"
            "Diagnosis It guesses\n");
}

TEST(Table, SymptomsStandBehindIt) {
  RunReport report = small_report();
  report.diagnosis = {{"chance", "It guesses"}, {"channels_reversed", "Blue\x1b[31m is red"}};
  EXPECT_THAT(to_table(report, "out"),
              testing::EndsWith("Diagnosis It guesses\n          Blue\\x1b[31m is red\n"));
  report.diagnosis.clear();
  EXPECT_THAT(to_table(report, "out"), Not(HasSubstr("Diagnosis")));
}

TEST(Table, LeavesOutWhatIsNotThere) {
  RunReport report = small_report();
  report.metrics.results.counts.ignored = 0;
  report.metrics.results.counts.tied = 0;
  report.digests.predictions.reset();
  report.timing.steady_samples_per_s.reset();
  report.inputs.data_integrity = "checked";
  report.digests.comparable = false;
  report.timing.ranks.resize(1);
  report.inputs.weights = WeightsFile{"w.pt", 1, 1, "f", "e"};
  report.provenance.environment.clear();
  const std::string table = to_table(report, "out");
  EXPECT_THAT(table, HasSubstr("m.pt with w.pt on d.h5\n"));
  EXPECT_THAT(
      table,
      HasSubstr("of it 0.25 s start-up; no steady rate (no rank has a second batch); 1 rank\n"));
  EXPECT_THAT(table, HasSubstr("state aaaaaaaaaaaaaaaa… (not comparable)\n"));
  EXPECT_THAT(table, HasSubstr("report.json, metrics.h5, events.jsonl\n"));
  for (const char* word : {"ignored", "tie ", "unchecked", "/s steady", "predictions", "Form"}) {
    EXPECT_THAT(table, Not(HasSubstr(word)));
  }
}

TEST(Table, ShowsIntervalsGroupsAndWhatWasNotFinite) {
  RunReport report = small_report();
  report.metrics.results.metrics[0].interval = metrics::Interval{0.4526, 0.93681, "wilson"};
  report.metrics.results.metrics[1].interval = metrics::Interval{0.05, 0.25, "bootstrap"};
  report.metrics.results.counts.not_finite = 3;
  GroupMetrics::Value worst{7, {}};
  worst.results.metrics = {{"accuracy", 0.25}};
  report.metrics.groups = {{"site", {worst}}};
  const std::string table = to_table(report, "out");
  EXPECT_THAT(table, HasSubstr("77.78 %   45.26 … 93.68 %   7 of 9\n"));
  EXPECT_THAT(table, HasSubstr("loss                           0.100000   0.050000 … 0.250000\n"));
  EXPECT_THAT(table, HasSubstr("3 with NaN or Inf outputs, counted as wrong if scored\n"));
  report.metrics.results.counts.tied.reset();
  EXPECT_THAT(to_table(report, "out"),
              HasSubstr("3 without a prediction, counted as wrong if scored\n"));
  EXPECT_THAT(table, HasSubstr("Groups    site: 1 values; worst accuracy 0.250000 in 7\n"));
}

TEST(Table, IsAsWideAsTheLongestNameOfAMetric) {
  RunReport report = small_report();
  report.metrics.results.metrics.push_back({"auroc_max_fpr_0.125_weighted", 0.5});
  report.metrics.results.metrics.push_back({"recall_at_precision_0.95_macro", 0.25});
  EXPECT_THAT(to_table(report, "out"),
              HasSubstr("  accuracy                          0.777778    77.78 %   7 of 9\n"
                        "  loss                              0.100000\n"
                        "  precision_macro                  undefined\n"
                        "  auroc_max_fpr_0.125_weighted      0.500000\n"
                        "  recall_at_precision_0.95_macro    0.250000    25.00 %\n"));
}

TEST(Table, ListsTypesOfEntities) {
  RunReport report = small_report();
  report.metrics.results.metrics.push_back({"entity_f1", 0.5});
  report.metrics.results.entity_types = {{"PER", 4, 4, 2, 0.5, 0.5, 0.5},
                                         {"\x1b", 0, 1, 0, 0.0, std::nullopt, 0.0}};
  const std::string table = to_table(report, "out");
  EXPECT_THAT(table, HasSubstr("  entity_f1                      0.500000    50.00 %\n"));
  EXPECT_THAT(
      table,
      HasSubstr("\n\n"
                "  entity                   support predicted   correct precision    recall        "
                "f1\n"
                "  PER                            4         4         2    0.5000    0.5000    "
                "0.5000\n"
                "  \\x1b                           0         1         0    0.0000         -    "
                "0.0000\n"
                "\n"));
  report.metrics.results.entity_types.resize(21);
  EXPECT_THAT(to_table(report, "out"), Not(HasSubstr("  entity ")));
}

TEST(Table, SaysWhatTheGpusTook) {
  RunReport report = small_report();
  EXPECT_THAT(to_table(report, "out"), Not(HasSubstr("Energy")));
  report.timing.ranks[0].gpu = "GPU-0";
  report.timing.ranks[0].energy_j = 1000.4;
  report.timing.ranks[1].energy_j = 234.0;
  EXPECT_THAT(to_table(report, "out"), HasSubstr("Energy    1,234 J, 123.4400 J per sample\n"));
  report.timing.ranks[0].energy_j = 100'000;
  EXPECT_THAT(to_table(report, "out"), HasSubstr("100,234 J, 10023.4000 J per sample\n"));
  report.metrics.results.units.count = 0;
  EXPECT_THAT(to_table(report, "out"), HasSubstr("Energy    100,234 J\n"));
}

TEST(Table, SaysLoudlyWhenSamplesWereLost) {
  RunReport report = small_report();
  report.metrics.results.units.count = 9;
  EXPECT_THAT(to_table(report, "out"), HasSubstr("NOT exactly once"));
}

TEST(Table, ListsClassesOnlyWhileTheyAreFew) {
  RunReport report = small_report();
  report.metrics.results.per_class.assign(20, {});
  EXPECT_THAT(to_table(report, "out"), HasSubstr("support"));
  report.metrics.results.per_class.assign(21, {});
  EXPECT_THAT(to_table(report, "out"), Not(HasSubstr("support")));
}

TEST(Table, KeepsItsColumnsWithLongAndHostileNames) {
  RunReport report = small_report();
  report.metrics.class_names = {"a class of a very long name indeed", "\x1b[2J\n\xff", "größe"};
  const std::string table = to_table(report, "o\x07ut");
  EXPECT_THAT(table, HasSubstr("  0 a class of a very l          4"));
  EXPECT_THAT(table, HasSubstr("  1 \\x1b[2J\\x0a\\xff              5"));
  EXPECT_THAT(table, HasSubstr("  2 größe                        0"));
  EXPECT_THAT(table, HasSubstr("Results   o\\x07ut\n"));
  for (const char c : table) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
}

}  // namespace
}  // namespace tally::report
