// SPDX-License-Identifier: Apache-2.0
// Which column of a predictions.h5 stands for a model's output, and what its numbers are.
#include "saved_scores.hpp"

#include <sys/stat.h>

#include <fstream>

#include "expect_error.hpp"
#include "raw_hdf5.hpp"
#include "saved_file.hpp"

namespace tally::app {
namespace {

using metrics::OutputKind;
using testing::ElementsAre;
using testing::IsEmpty;

class SavedColumnsTest : public testing::Test {
 protected:
  std::string path(const std::string& name = "p.h5") const { return (folder_ / name).string(); }
  // Two rows of two numbers in each of these columns.
  SavedFile with_columns(const std::string& task, const std::vector<std::string>& columns) const {
    SavedFile file(path(), task);
    for (const auto& name : columns) {
      if (name == "prediction") {
        file.put<std::int64_t>(name, {2, 2}, {0, 1, 1, 0});
      } else {
        file.put<float>(name, {2, 2}, {0, 1, 1, 0});
      }
    }
    return file;
  }
  void write_text(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }

  raw::TemporaryFolder folder_;
};

struct Scores {
  const char* name;
  std::string task;
  std::vector<std::string> columns;
  std::string asked, stored;  // --outputs, and the attribute of the file; empty: none
  std::string column;
  OutputKind kind;
};

class FoundScoresTest : public SavedColumnsTest, public testing::WithParamInterface<Scores> {};

TEST_P(FoundScoresTest, AreOfTheColumnAndKindThatTheUserMeans) {
  const Scores& given = GetParam();
  auto file = with_columns(given.task, given.columns);
  if (!given.stored.empty()) file.set("outputs", given.stored);
  file.close();
  const auto found = find_scores(path(), given.task, given.asked, "");
  EXPECT_EQ(found.rows->place(), given.column + " of '" + path() + "'");
  EXPECT_EQ(found.rows->column().path, given.column);
  EXPECT_EQ(found.outputs, given.kind);
  EXPECT_THAT(found.notes, IsEmpty());
}

const std::vector<std::string> kBoth{"logits", "probabilities"};

INSTANTIATE_TEST_SUITE_P(
    Columns, FoundScoresTest,
    testing::Values(
        Scores{"LogitsFirst", "multiclass", kBoth, "", "logits", "/logits", OutputKind::logits},
        Scores{"LogitsWithoutAWord", "binary", {"logits"}, "", "", "/logits", OutputKind::logits},
        Scores{"KindOfTheFile",
               "multiclass",
               {"logits"},
               "",
               "log-probabilities",
               "/logits",
               OutputKind::log_probabilities},
        Scores{"KindOfTheOption",
               "multiclass",
               {"logits"},
               "log-probabilities",
               "logits",
               "/logits",
               OutputKind::log_probabilities},
        Scores{"ProbabilitiesAlone",
               "multilabel",
               {"probabilities"},
               "",
               "logits",
               "/probabilities",
               OutputKind::probabilities},
        Scores{"ProbabilitiesOfTheOption", "multiclass", kBoth, "probabilities", "logits",
               "/probabilities", OutputKind::probabilities},
        // The column of this name never holds them.
        Scores{"LogitsBesideProbabilities", "multiclass", kBoth, "", "probabilities", "/logits",
               OutputKind::logits},
        Scores{"Values",
               "regression",
               {"logits", "prediction"},
               "",
               "",
               "/prediction",
               OutputKind::logits},
        // Classes tell less than any scores.
        Scores{"Classes", "multiclass", {"prediction"}, "", "", "/prediction", OutputKind::classes},
        Scores{"LogitsBesideClasses",
               "binary",
               {"logits", "prediction", "score"},
               "",
               "classes",
               "/logits",
               OutputKind::logits},
        Scores{"ClassesOfTheOption",
               "multilabel",
               {"logits", "prediction"},
               "classes",
               "",
               "/prediction",
               OutputKind::classes},
        Scores{"ProbabilitiesOfClass1",
               "binary",
               {"prediction", "score"},
               "",
               "",
               "/score",
               OutputKind::probabilities},
        Scores{"Masks", "segmentation", {"prediction"}, "", "", "/prediction", OutputKind::logits}),
    [](const auto& tested) { return tested.param.name; });

struct Lacking {
  const char* name;
  std::string of_file, task, asked;
  std::string says;
};

class LackingScoresTest : public SavedColumnsTest, public testing::WithParamInterface<Lacking> {};

TEST_P(LackingScoresTest, AreRefusedWithWhatWouldSaveThem) {
  with_columns(GetParam().of_file, {"label"}).close();
  expect_error(ErrorKind::dataset, {"predictions file '" + path() + "' " + GetParam().says},
               [&] { find_scores(path(), GetParam().task, GetParam().asked, ""); });
}

INSTANTIATE_TEST_SUITE_P(
    Columns, LackingScoresTest,
    testing::Values(
        Lacking{
            "Either", "multiclass", "multiclass", "",
            "has no column logits, probabilities or prediction to score for multiclass. Evaluate "
            "with --save logits."},
        Lacking{"Logits", "binary", "binary", "log-probabilities",
                "has no column logits to score for binary. Evaluate with --save logits."},
        Lacking{"Probabilities", "multilabel", "multilabel", "probabilities",
                "has no column probabilities to score for multilabel. Evaluate with --save "
                "probabilities."},
        Lacking{"Values", "regression", "regression", "",
                "has no column prediction to score for regression. Evaluate with --save labels, "
                "of maps with --save labels,masks."},
        Lacking{"Masks", "segmentation", "segmentation", "",
                "has no column prediction to score for segmentation. Evaluate with --save "
                "labels,masks."},
        Lacking{"OutputsThatNobodyScored", "predict", "multiclass", "",
                "has no column logits, probabilities or prediction to score for multiclass. It "
                "is of --task predict: evaluate without that."}),
    [](const auto& tested) { return tested.param.name; });

TEST_F(SavedColumnsTest, NumbersThatNoModelReturnsAreRefused) {
  SavedFile(path("u16.h5"), "multiclass").each<std::uint16_t>("logits", {0, 1}).close();
  SavedFile(path("u64.h5"), "multiclass").each<std::uint64_t>("logits", {0, 1}).close();
  SavedFile(path("text.h5"), "multiclass").strings("logits", {"a", "b"}).close();
  SavedFile(path("i8.h5"), "multiclass").each<std::int8_t>("logits", {0, 1}).close();
  const auto says = [&](const std::string& name, const std::string& type) {
    expect_error(ErrorKind::dataset, {name + "', /logits is of " + type, "nothing to score"},
                 [&] { find_scores(path(name), "multiclass", "", ""); });
  };
  says("u16.h5", "uint16");
  says("u64.h5", "uint64");
  says("text.h5", "string");
  EXPECT_NO_THROW(find_scores(path("i8.h5"), "multiclass", "", ""));
}

TEST_F(SavedColumnsTest, AGroupInThePlaceOfAColumnIsRefused) {
  SavedFile(path(), "multiclass").texts("logits", {"a"}).close();
  expect_error(ErrorKind::dataset, {"/logits"}, [&] { find_scores(path(), "multiclass", "", ""); });
}

TEST_F(SavedColumnsTest, AKindThatIsNoneIsRefusedWithTheNameOfTheFile) {
  with_columns("multiclass", {"logits"}).set("outputs", "x\ny").close();
  expect_error(ErrorKind::dataset, {path(), "attribute outputs: 'x\\x0ay'"},
               [&] { find_scores(path(), "multiclass", "", ""); });
  EXPECT_NO_THROW(find_scores(path(), "multiclass", "logits", "")) << "--outputs says it";
}

TEST_F(SavedColumnsTest, PredictionsOfAnotherDataSetAreNoted) {
  with_columns("multiclass", {"logits"})
      .set("data_identity", "ab12")
      .set("data", "train.h5")
      .close();
  EXPECT_THAT(find_scores(path(), "multiclass", "", "ab12").notes, IsEmpty());
  EXPECT_THAT(find_scores(path(), "multiclass", "", "cd34").notes,
              ElementsAre("these predictions were made of another data set, 'train.h5': rows are "
                          "taken to be the same"));
}

// By FIPS 180-4's example, and the well-known digest of nothing.
TEST_F(SavedColumnsTest, AFileIsDescribedByItsBytes) {
  write_text("abc", "abc");
  write_text("empty", "");
  const auto abc = describe_input(path("abc")), empty = describe_input(path("empty"));
  EXPECT_EQ(abc.path, path("abc"));
  EXPECT_EQ(abc.bytes, 3);
  EXPECT_EQ(abc.digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(empty.bytes, 0);
  EXPECT_EQ(empty.digest, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

// One of more than a piece, which is 1 MiB: as long as two pieces exactly, and longer by a byte.
TEST_F(SavedColumnsTest, ALongFileIsDescribedByAllOfItsBytes) {
  const std::string two(2U << 20, 'x');
  write_text("two", two);
  write_text("more", two + "y");
  EXPECT_EQ(describe_input(path("two")).bytes, 2 << 20);
  EXPECT_EQ(describe_input(path("more")).bytes, (2 << 20) + 1);
  EXPECT_NE(describe_input(path("two")).digest, describe_input(path("more")).digest);
}

TEST_F(SavedColumnsTest, WhatIsNoFileCannotBeRead) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  for (const std::string& name : {path("none"), path("pipe"), std::string("/dev/zero")}) {
    expect_error(ErrorKind::dataset,
                 {"cannot read predictions file '" + name + "' (", "Check the path"},
                 [&] { describe_input(name); });
  }
  expect_error(ErrorKind::dataset, {"cannot be read (it is a folder). Name the predictions.h5"},
               [&] { describe_input(folder_.path().string()); });
  // The memory at address 0 of this process: opening it succeeds, and reading fails.
  expect_error(ErrorKind::dataset, {"predictions file '/proc/self/mem' cannot be read to its end"},
               [] { describe_input("/proc/self/mem"); });
}

TEST(ListedTest, TheFirstIdsStandForMore) {
  EXPECT_EQ(listed({}, true), "");
  EXPECT_EQ(listed({"a", "b"}, true), "a, b");
  EXPECT_EQ(listed({"a", "b\n"}, false), "a, b\\x0a, …");
}

}  // namespace
}  // namespace tally::app
