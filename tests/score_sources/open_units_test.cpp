// SPDX-License-Identifier: Apache-2.0
// Whether saved units are as many, and of the task, that the data set asks for.
#include "unit_scores.hpp"

#include <numeric>

#include "expect_error.hpp"
#include "raw_hdf5.hpp"
#include "saved_file.hpp"

namespace tally::app {
namespace {

class OpenUnitsTest : public testing::Test {
 protected:
  OpenUnitsTest() {
    info_.path = "val.h5";
    info_.num_units = 3;
  }
  // Of a file of that many rows.
  predictions::SavedRows open(std::int64_t num_rows, std::int64_t num_scored,
                              const std::string& task = "language-model") {
    const auto path = folder_ / (std::to_string(num_files_++) + ".h5");
    std::vector<std::int64_t> index(static_cast<std::size_t>(num_rows));
    std::iota(index.begin(), index.end(), 0);
    SavedFile(path, task).each("index", index).close();
    return open_units(path.string(), "language-model", info_, num_scored);
  }
  void expect_refusal(std::int64_t num_rows, std::int64_t num_scored, const std::string& says) {
    expect_error(ErrorKind::dataset, {"predictions file '", ".h5': " + says},
                 [&] { open(num_rows, num_scored); });
  }

  raw::TemporaryFolder folder_;
  data::DataSetInfo info_;
  int num_files_ = 0;
};

TEST_F(OpenUnitsTest, AsManyAsAreScoredAreEnough) {
  EXPECT_EQ(open(3, 0).num_rows(), 3);
  EXPECT_EQ(open(3, 2).num_rows(), 3);
  EXPECT_EQ(open(2, 2).num_rows(), 2);
  EXPECT_EQ(open(3, 9).num_rows(), 3) << "a limit behind the last unit is none";
}

TEST_F(OpenUnitsTest, FewerAreRefusedWithALimitThatFits) {
  expect_refusal(2, 0,
                 "it has 2 documents, 3 are to be scored. Score as many with --limit 2, or "
                 "evaluate the rest.");
  expect_refusal(1, 2, "it has 1 documents, 2 are to be scored. Score as many with --limit 1");
  expect_refusal(0, 0, "it has 0 documents, 3 are to be scored. Evaluate again.");
}

TEST_F(OpenUnitsTest, MoreThanTheDataSetHasAreOfAnother) {
  expect_refusal(4, 0,
                 "it has 4 documents, data set 'val.h5' has 3. Name the data set that was "
                 "predicted.");
  expect_refusal(4, 2, "it has 4 documents, data set 'val.h5' has 3.");
}

TEST_F(OpenUnitsTest, UnitsOfAnotherTaskAreRefused) {
  expect_error(ErrorKind::dataset, {"it is of the task multiple-choice, not of language-model."},
               [&] { open(3, 0, "multiple-choice"); });
  expect_error(ErrorKind::dataset, {R"(it is of the task a\x0ab, not of language-model.)"},
               [&] { open(3, 0, "a\nb"); });
}

TEST_F(OpenUnitsTest, WhatIsNoPredictionsFileIsRefused) {
  raw::create(folder_ / "data.h5", [](hid_t) {});
  expect_error(ErrorKind::dataset, {"data.h5' holds no predictions"},
               [&] { open_units((folder_ / "data.h5").string(), "language-model", info_, 0); });
}

}  // namespace
}  // namespace tally::app
