// SPDX-License-Identifier: Apache-2.0
// The windows of documents put together over ranks, and which units there are.
#include <tally/aggregate/unit_aggregation.hpp>

#include <limits>
#include <numbers>
#include <numeric>

#include <tally/aggregate/global_result.hpp>

#include "aggregate_fixture.hpp"

namespace tally::app {
namespace {

// Of the records: bytes, correct, correct_top5, id, index, loss, nll, tokens.
constexpr std::int64_t kBytes = 0, kCorrect = 1, kId = 3, kIndex = 4, kNll = 6, kTokens = 7;

class DocumentsTest : public AggregateTest {
 protected:
  EvaluationSession open_documents(const data::TokenFile& file) {
    return open(file, {.save = {tasks::SaveColumns::labels}, .keep_rows = true});
  }
  LocalUnits join(const EvaluationSession& session, const data::TokenFile& file,
                  const std::vector<double>& losses) {
    return join_units(world(), session, retain(session, records_of(file, losses)));
  }
};

// Three documents: of 6 + 2 tokens in two windows, of 2, and without tokens.
TEST_F(DocumentsTest, SumsAreOverAllWindowsOfADocument) {
  const auto file = data::document_file();
  for (const std::int64_t batch_size : {1, 2, 3}) {
    batch_size_ = batch_size;
    const auto session = open_documents(file);
    auto local = join(session, file, {3, 1.5, 2.5, 0});
    expect_on_all_ranks<std::int64_t>(column_of<std::int64_t>(local.log, kIndex), {0, 1, 2});
    expect_on_all_ranks<std::int64_t>(column_of<std::int64_t>(local.log, kTokens), {8, 2, 0});
    expect_on_all_ranks<std::int64_t>(column_of<std::int64_t>(local.log, kCorrect), {2, 1, 0});
    expect_on_all_ranks<std::int64_t>(column_of<std::int64_t>(local.log, kBytes), {31, 4, 0});
    expect_on_all_ranks<double>(column_of<double>(local.log, kNll), {4.5, 2.5, 0});
    const auto ids = world().gather(text_of(local.log, kId));
    EXPECT_EQ(std::accumulate(ids.begin(), ids.end(), std::string()),
              world().is_root() ? "a.txtΩ" : "");
    EXPECT_EQ(local.retained.num_rows(), local.log.num_rows()) << "for counting them once more";

    const auto results = merge_results(world(), session, local).results;
    EXPECT_EQ(results.units.count, 3);
    EXPECT_EQ(results.counts.ignored, 1) << "there is nothing to score in the last one";
    EXPECT_EQ(results.samples().count, 4);
    EXPECT_DOUBLE_EQ(value_of(results, "loss").value(), 0.7);
    EXPECT_DOUBLE_EQ(value_of(results, "accuracy").value(), 0.3);
    EXPECT_DOUBLE_EQ(value_of(results, "bits_per_byte").value(), 0.2 / std::numbers::ln2);
  }
}

TEST_F(DocumentsTest, AUnitIsWhereItsFirstSampleIs) {
  const auto file = data::document_file();
  const std::vector<std::int64_t> firsts{0, 2, 3};
  const auto session = open_documents(file);
  const auto local = join(session, file, {3, 1.5, 2.5, 0});
  const auto own = own_samples(session);
  std::vector<std::int64_t> expected;
  for (const std::int64_t first : firsts) {
    if (first >= own.first && first < own.end()) expected.push_back(first);
  }
  EXPECT_EQ(local.unit_samples, expected);
  EXPECT_EQ(local.log.num_rows(), std::ssize(expected));
  expect_on_all_ranks(local.unit_samples, firsts);
  if (!expected.empty()) {
    const auto before =
        std::ranges::count_if(firsts, [&](auto first) { return first < own.first; });
    EXPECT_EQ(local.first_index, before);
  }
}

// As doubles, ones that are added to 1e16 one by one would get lost.
TEST_F(DocumentsTest, ADocumentMayLieOnAllRanks) {
  const auto file = documents(1, 7);
  const auto session = open_documents(file);
  const auto local = join(session, file, {1e16, 1, 1, 1, 1, 1, 1});
  expect_on_all_ranks<double>(column_of<double>(local.log, kNll), {10000000000000006.0});
  expect_on_all_ranks<std::int64_t>(column_of<std::int64_t>(local.log, kTokens), {14});
  EXPECT_EQ(local.log.num_rows(), world().is_root() ? 1 : 0);
}

// More than are scored at a time.
TEST_F(DocumentsTest, ManyDocumentsKeepTheirOrder) {
  const auto file = documents(600, 1);
  const auto session = open_documents(file);
  auto local = join(session, file, std::vector<double>(600, 0.25));
  std::vector<std::int64_t> expected(600);
  std::iota(expected.begin(), expected.end(), 1);
  expect_on_all_ranks(column_of<std::int64_t>(local.log, kBytes), expected);
  EXPECT_EQ(merge_results(world(), session, local).results.units.count, 600);
}

TEST_F(DocumentsTest, AWindowThatIsNotFiniteSpoilsItsDocumentAlone) {
  const auto file = data::document_file();
  for (const std::size_t spoilt : {0U, 1U}) {
    const auto session = open_documents(file);
    std::vector<double> losses{3, 1.5, 2.5, 0};
    losses[spoilt] = std::numeric_limits<double>::quiet_NaN();
    auto local = join(session, file, losses);
    const auto results = merge_results(world(), session, local).results;
    EXPECT_EQ(results.counts.without_scores, 1);
    EXPECT_EQ(value_of(results, "loss"), 1.25);  // of the second one alone
  }
}

struct Limit {
  std::int64_t limit, units, cut;
  double loss;
  std::optional<double> by_byte;  // loss by byte of the documents that are whole
};

TEST_F(DocumentsTest, ALimitMayCutADocument) {
  const auto file = data::document_file();
  for (const Limit& given : {Limit{1, 1, 0, 3.0 / 6, {}}, Limit{2, 1, -1, 4.5 / 8, 4.5 / 31},
                             Limit{3, 2, -1, 7.0 / 10, 7.0 / 35}, Limit{9, 3, -1, 0.7, 0.2}}) {
    config_.scoring.limit = given.limit;
    const auto session = open_documents(file);
    EXPECT_EQ(count_units(session), given.units) << given.limit;
    EXPECT_EQ(truncated_unit(session), given.cut) << given.limit;
    auto local = join(session, file, {3, 1.5, 2.5, 0});
    const bool is_cut = given.cut >= 0;
    if (world().is_root()) {
      EXPECT_EQ(column_of<std::int64_t>(local.log, kBytes).front(), is_cut ? -1 : 31);
    }
    const auto results = merge_results(world(), session, local).results;
    EXPECT_EQ(results.units.count, given.units);
    EXPECT_DOUBLE_EQ(value_of(results, "loss").value(), given.loss);
    const auto bits = value_of(results, "bits_per_byte");
    EXPECT_EQ(bits.has_value(), !is_cut);
    if (bits) {
      EXPECT_DOUBLE_EQ(*bits, given.by_byte.value() / std::numbers::ln2);
    }
  }
}

TEST_F(DocumentsTest, UnitsThatWereSavedAreTheSamples) {
  auto session = open_documents(data::document_file());
  session.source = std::make_unique<GivenScores>(true);
  EXPECT_EQ(count_units(session), 3);
  config_.scoring.limit = 2;  // of units
  auto limited = open_documents(data::document_file());
  limited.source = std::make_unique<GivenScores>(true);
  EXPECT_EQ(count_units(limited), 2);
}

struct WrongUnits {
  const char* name;
  std::vector<std::int64_t> units;  // of four samples; there are three units
  std::string says;
};

class WrongUnitsTest : public AggregateTest, public testing::WithParamInterface<WrongUnits> {};

TEST_P(WrongUnitsTest, AreRefusedOnAllRanksByTheFirstThatIsWrong) {
  auto file = data::document_file();
  for (std::size_t i = 0; i < file.rows.size(); ++i) file.rows[i].unit = GetParam().units.at(i);
  const auto session = open(file);
  EXPECT_EQ(
      refusal_of(ErrorKind::dataset,
                 [&] {
                   join_units(world(), session, retain(session, records_of(file, {1, 1, 1, 0})));
                 }),
      GetParam().says + ". Prepare the data set again (data_tools/SCHEMA.md).");
}

INSTANTIATE_TEST_SUITE_P(
    Units, WrongUnitsTest,
    testing::Values(WrongUnits{"LeavesOneOut",
                               {0, 0, 2, 2},
                               "/targets/unit[2] = 2 after 0, expected the same or the next "
                               "document"},
                    WrongUnits{"BeginsBehindTheFirst",
                               {1, 1, 1, 2},
                               "/targets/unit[0] = 1 after -1, expected the same or the next "
                               "document"},
                    WrongUnits{"Descends",
                               {0, 1, 0, 2},
                               "/targets/unit[2] = 0 after 1, expected the same or the next "
                               "document"},
                    WrongUnits{"EndsEarly",
                               {0, 0, 1, 1},
                               "/targets/unit ends with 1, but there are 3 documents"}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace tally::app
