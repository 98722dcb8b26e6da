// SPDX-License-Identifier: Apache-2.0
// Metrics of the samples with one value of a column, of all ranks together.
#include "bootstrap_and_subgroup_metrics.hpp"

#include <cmath>

#include <tally/aggregate/unit_aggregation.hpp>

#include "aggregate_fixture.hpp"
#include "expect_error.hpp"
#include "order_based_metrics.hpp"
#include "target_file.hpp"

namespace tally::app {
namespace {

using Codes = std::vector<std::int32_t>;

class SubgroupsTest : public AggregateTest {
 protected:
  // Errors are 1, 0, 2, -3, 0 and 4.
  EvaluationSession open_regression() {
    return open(data::regression_file(1, {1, 2, 3, 4, 5, 6}),
                {.metrics = {.names = {"mse", "spearman"}}, .keep_rows = true},
                with_sites({30, -5, 7, 30, -5, 30}));
  }
  LocalUnits predicted(const EvaluationSession& session) {
    return LocalUnits(score(session, {2, 2, 5, 1, 5, 10}));
  }
  report::GroupMetrics metrics_by_group(const EvaluationSession& session, const LocalUnits& local,
                                        const Subgroups& groups) {
    const auto codes = group_codes(session, local, groups);
    return metrics_of(session, groups, count_subgroups(world(), session, local, groups, codes));
  }

  const Subgroups sites_{.column = 0, .values = {-5, 7, 30}};
};

TEST_F(SubgroupsTest, ACodeIsThePlaceOfTheValue) {
  const auto session = open_regression();
  expect_on_all_ranks(group_codes(session, predicted(session), sites_), Codes{2, 0, 1, 2, 0, 2});
}

TEST_F(SubgroupsTest, EachValueHasTheMetricsOfItsSamplesOnAllRanks) {
  for (const std::int64_t batch_size : {1, 2, 4}) {
    batch_size_ = batch_size;
    const auto session = open_regression();
    const auto found = metrics_by_group(session, predicted(session), sites_);
    EXPECT_EQ(found.name, "site");
    ASSERT_EQ(found.values.size(), 3U);
    EXPECT_EQ(found.values[0].value, -5);
    EXPECT_EQ(found.values[2].value, 30);
    EXPECT_EQ(found.values[0].results.units.count, 2);
    EXPECT_EQ(found.values[1].results.units.count, 1);
    EXPECT_EQ(found.values[2].results.units.count, 3);
    EXPECT_EQ(value_of(found.values[0].results, "mse"), 0.0);
    EXPECT_EQ(value_of(found.values[1].results, "mse"), 4.0);
    EXPECT_DOUBLE_EQ(value_of(found.values[2].results, "mse").value(), 26.0 / 3);
  }
}

// Of all, twice the distances of average ranks from their mean are -2, -2, 2, -5, 2, 5 and -5, -3,
// -1, 1, 3, 5. Predictions 2, 1 and 10 for 1, 4 and 6 have the ranks 2, 1 and 3: 1 - 6 * 2 / 24.
TEST_F(SubgroupsTest, RanksAreThoseAmongTheSubgroup) {
  const auto session = open_regression();
  const auto local = predicted(session);
  const auto all = sum_all_spearman(world(), session, local);
  EXPECT_DOUBLE_EQ(ordered_metrics::mean_spearman(all).value(), 40 / std::sqrt(66.0 * 70.0));
  const auto codes = group_codes(session, local, sites_);
  const auto of_site = [&](std::int32_t code) {
    return ordered_metrics::mean_spearman(sum_spearman_of(world(), session, local, codes, code));
  };
  EXPECT_EQ(of_site(0), 1.0);
  EXPECT_EQ(of_site(1), std::nullopt) << "of one sample";
  EXPECT_DOUBLE_EQ(of_site(2).value(), 0.5);
}

TEST_F(SubgroupsTest, SpearmanIsOfAllOutputsAndOfEach) {
  const auto session =
      open(data::regression_file(2, {1, 1, 2, 2, 3, 3}), {.metrics = {.names = {"spearman"}}});
  // The first output ascends with its target, the second one descends.
  const LocalUnits local(score(session, {5, 9, 6, 8, 7, 7}));
  metrics::Results results;
  results.per_class.resize(2);
  add_spearman(sum_all_spearman(world(), session, local), results);
  EXPECT_EQ(value_of(results, "spearman"), 0.0);
  EXPECT_EQ(results.per_class[0].value("spearman"), 1.0);
  EXPECT_EQ(results.per_class[1].value("spearman"), -1.0);
}

TEST_F(SubgroupsTest, SpearmanThatNobodyAskedForIsNotComputed) {
  const auto session = open(data::regression_file(1, {1, 2}), {.metrics = {.names = {"mse"}}});
  const LocalUnits local(score(session, {1, 2}));
  metrics::Results results;
  add_spearman(sum_all_spearman(world(), session, local), results);
  add_spearman_intervals(world(), session, local, results);
  EXPECT_TRUE(results.metrics.empty());
}

TEST_F(SubgroupsTest, AValueThatWasNotThereIsRefused) {
  const auto session = open_regression();
  const auto local = predicted(session);
  const auto own = own_samples(session);
  // Between two values, and behind the last one: of sample 2, and of the samples 0, 3 and 5.
  const auto refusal = [&](const Codes& values) {
    group_codes(session, local, {.column = 0, .values = values});
  };
  if (own.first <= 2 && 2 < own.end()) {
    expect_error(ErrorKind::dataset,
                 {"/groups/site changed while the run went on: 7 was not in it"}, [&] {
                   refusal({-5, 30});
                 });
  } else {
    EXPECT_NO_THROW(refusal({-5, 30}));
  }
  if (own.first <= 5 && 5 < own.end()) {
    expect_error(ErrorKind::dataset, {": 30 was not in it"}, [&] { refusal({-5, 7}); });
  }
}

// The samples 0, 2 and 3 are the first ones of their documents; sample 1 lies in another subgroup.
TEST_F(SubgroupsTest, AUnitHasTheValueOfItsFirstSample) {
  const auto file = data::document_file();
  const auto session = open(file, {.keep_rows = true}, with_sites({5, 9, 9, 5}));
  const auto local =
      join_units(world(), session, retain(session, records_of(file, {3, 1.5, 2.5, 0})));
  const Subgroups groups{.column = 0, .values = {5, 9}};
  expect_on_all_ranks(group_codes(session, local, groups), Codes{0, 1, 0});
  const auto found = metrics_by_group(session, local, groups);
  EXPECT_EQ(found.values.at(0).results.units.count, 2);
  EXPECT_EQ(found.values.at(1).results.units.count, 1);
  EXPECT_EQ(value_of(found.values[0].results, "loss"), 4.5 / 8);
  EXPECT_EQ(value_of(found.values[1].results, "loss"), 1.25);
}

}  // namespace
}  // namespace tally::app
