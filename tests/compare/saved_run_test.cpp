// SPDX-License-Identifier: Apache-2.0
// What is opened as a result, what is refused as none, and when two are of the same samples.
#include "saved_run.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <numeric>

#include "expect_error.hpp"
#include "run_file.hpp"

namespace tally::compare {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SavedRunTest : public RunFilesTest {
 protected:
  SavedRunTest() {
    run_.column<std::int64_t>("index", {3, 5, 9}).column<float>("loss", {0.5F, 0.25F, 2});
  }
  // A file that is there, whatever it holds.
  void put(const std::string& name, const std::string& content) {
    fs::create_directories(in(name).parent_path());
    std::ofstream(in(name), std::ios::binary) << content;
  }

  RunFile run_{"multiclass", 3};
};

TEST_F(SavedRunTest, AFolderStandsForItsPredictions) {
  run_.attribute("weights_sha256", "12345678").write(in("a"));
  for (const fs::path& given : {in("a"), in("a") / "predictions.h5"}) {
    const SavedRun run(given);
    EXPECT_EQ(run.info().path, given.string());
    EXPECT_EQ(run.info().model, "net.pt");
    EXPECT_EQ(run.info().model_sha256, "aaaabbbbccccdddd");
    EXPECT_EQ(run.info().weights_sha256, "12345678");
    EXPECT_EQ(run.info().predictions_digest, "feedfeed");
    EXPECT_EQ(run.name(), (in("a") / "predictions.h5").string());
    EXPECT_EQ(run.num_samples(), 3);
    EXPECT_THAT(run.indices(), ElementsAre(3, 5, 9));
    EXPECT_THAT(run.column<float>("loss", "labels"), ElementsAre(0.5F, 0.25F, 2));
  }
}

TEST_F(SavedRunTest, TheModelsOwnWeightsHaveNoDigest) {
  const SavedRun run(run_.write(in("a")));
  EXPECT_EQ(run.info().weights_sha256, "");
  EXPECT_EQ(run.find_attribute("weights_sha256"), std::nullopt);
  EXPECT_EQ(run.attribute("task"), "multiclass");
}

TEST_F(SavedRunTest, ClassNamesLieInTheMetricsFileBesideIt) {
  const SavedRun run(run_.write(in("a")));
  EXPECT_THAT(run.class_names(), IsEmpty()) << "there is no metrics.h5";
  {
    hdf5::Writer file(in("a") / "metrics.h5");
    file.write_strings("/class_names", std::vector<std::string>{"cat", "d\x1bg", ""});
    file.close();
  }
  EXPECT_THAT(run.class_names(), ElementsAre("cat", "d\\x1bg", ""));
  hdf5::Writer(in("other.h5")).close();
  fs::rename(in("other.h5"), in("a") / "metrics.h5");
  EXPECT_THAT(run.class_names(), IsEmpty()) << "metrics.h5 has none";
}

TEST_F(SavedRunTest, WhatIsNoResultIsRefusedByItsName) {
  expect_error(ErrorKind::usage, {"/nowhere' does not exist", "Give two result folders"},
               [&] { SavedRun(in("nowhere")); });
  fs::create_directory(in("empty"));
  expect_error(ErrorKind::usage, {"/empty' is no result folder (it has no report.json"},
               [&] { SavedRun(in("empty")); });
  put("unsaved/report.json", "{}");
  expect_error(ErrorKind::usage,
               {"/unsaved' has no predictions.h5", "Evaluate again with --save labels."},
               [&] { SavedRun(in("unsaved")); });
}

TEST_F(SavedRunTest, DamagedAndForeignFilesAreDataSetErrors) {
  for (const auto* content : {"", "text", "\x89HDF\r\n\x1a\n"}) {
    put("bad/predictions.h5", content);
    expect_error(ErrorKind::dataset, {"predictions.h5"}, [&] { SavedRun(in("bad")); });
  }
  run_.write(in("cut"));
  fs::resize_file(in("cut") / "predictions.h5", fs::file_size(in("cut") / "predictions.h5") - 1);
  expect_error(ErrorKind::dataset, {"predictions.h5", "is truncated"},
               [&] { SavedRun(in("cut")); });
  hdf5::Writer(in("foreign.h5")).close();
  expect_error(ErrorKind::dataset,
               {"foreign.h5' holds no predictions (its root attribute 'tally_predictions' is "
                "missing)"},
               [&] { SavedRun(in("foreign.h5")); });
  run_.version(2).write(in("later"));
  expect_error(ErrorKind::dataset, {"'tally_predictions' is 2", "this version of 'tally evaluate'"},
               [&] { SavedRun(in("later")); });
}

TEST_F(SavedRunTest, NamesFromOutsideCannotSteerATerminal) {
  expect_error(ErrorKind::usage, {"a\\x0ab\\x1b[2J' does not exist"},
               [&] { SavedRun(in("a\nb\x1b[2J")); });
}

TEST_F(SavedRunTest, IndicesMustBeOneColumnThatRises) {
  const auto expect_refused = [&](const std::string& name, const std::string& text) {
    expect_error(ErrorKind::dataset, {text}, [&] { SavedRun(run_.write(in(name))); });
  };
  run_.column<std::int64_t>("index", {3, 5, 5});
  expect_refused("again", "/index[2] = 5, expected more than 5");
  run_.column<std::int64_t>("index", {-1, 5, 6});
  expect_refused("negative", "/index[0] = -1, expected more than -1");
  run_.column<std::int64_t>("index", {3, 5, 6}, {1});
  expect_refused("square", "/index is [3, 1], expected [samples]");
  run_.column<std::int32_t>("index", {3, 5, 6});
  expect_refused("narrow", "int32");
  run_.without("index");
  expect_refused("none", "has no column 'index'. Evaluate again with --save labels.");
}

TEST_F(SavedRunTest, AttributesAndColumnsThatAreMissingAreNamed) {
  const SavedRun run(run_.write(in("a")));
  EXPECT_TRUE(run.has_column("loss"));
  EXPECT_FALSE(run.has_column("logits"));
  expect_error(ErrorKind::dataset, {"has no attribute 'seal'", "Evaluate again"},
               [&] { (void)run.attribute("seal"); });
  expect_error(ErrorKind::dataset, {"has no column 'logits'. Evaluate again with --save logits."},
               [&] { (void)run.column<float>("logits", "logits"); });
  expect_error(ErrorKind::dataset, {"/loss is [3], expected [3, 2]"},
               [&] { (void)run.column<float>("loss", "labels", {2}); });
  expect_error(ErrorKind::dataset, {"/loss", "float32", "float64"},
               [&] { (void)run.column<double>("loss", "labels"); });
  expect_error(ErrorKind::dataset, {"/index", "int64", "float32"},
               [&] { (void)run.rows("index", "labels", {}); });
  expect_error(ErrorKind::dataset, {"/loss[17] = nan, expected a number. The file is damaged"},
               [&] { run.throw_dataset_error("loss", 17, "nan", "a number"); });
}

// A window has 8 MiB, that is 3 of these rows.
TEST_F(SavedRunTest, LargeColumnsComeWindowByWindow) {
  constexpr std::int64_t kRows = 7, kElements = 600'000;
  std::vector<float> values(kRows * kElements);
  std::iota(values.begin(), values.end(), 0.0F);
  std::vector<std::int64_t> index(kRows);
  std::iota(index.begin(), index.end(), 0);
  RunFile file("multiclass", kElements);
  file.column("index", index).column("logits", values, {kElements});
  const SavedRun run(file.write(in("large")));
  std::vector<std::int64_t> firsts;
  std::vector<float> found;
  run.for_each_window("logits", {kElements},
                      [&](std::int64_t first, std::int64_t count, std::span<float> window) {
                        firsts.push_back(first);
                        EXPECT_EQ(std::ssize(window), count * kElements);
                        found.insert(found.end(), window.begin(), window.end());
                        window[0] = -1;  // the visitor's to change
                      });
  EXPECT_THAT(firsts, ElementsAre(0, 3, 6));
  EXPECT_TRUE(found == values);
}

TEST_F(SavedRunTest, WithoutSamplesThereAreNoWindows) {
  run_.column<std::int64_t>("index", {}).column<float>("loss", {});
  const SavedRun run(run_.write(in("a")));
  EXPECT_EQ(run.num_samples(), 0);
  run.for_each_window("loss", {}, [](std::int64_t, std::int64_t, std::span<float>) { FAIL(); });
}

const std::vector<Refusal> kOtherSamples{
    {"Task", [](RunFile& run) { run.attribute("task", "binary"); },
     "are of the tasks multiclass and binary. Give two results of one task.", ErrorKind::usage},
    {"TaskWithALineBreak", [](RunFile& run) { run.attribute("task", "a\nb"); },
     "are of the tasks multiclass and a\\x0ab", ErrorKind::usage},
    {"DataSet", [](RunFile& run) { run.attribute("data_identity", "fedcba98765432101111"); },
     "not of the same samples: data_identity is 0123456789abcdef… and fedcba9876543210…. Evaluate "
     "both models on one data set. Data sets that prepare the same samples differently need names "
     "of samples (/samples/name) and checksums."},
    {"SamplesOfBAlone",
     [](RunFile& run) {
       run.attribute("data_identity", "fedcba98765432101111").attribute("data_samples", "aaaa");
     },
     "not of the same samples: data_identity is 0123456789abcdef… and fedcba9876543210…"},
    {"FewerSamples",
     [](RunFile& run) {
       run.column<std::int64_t>("index", {3, 5});
     },
     "not of the same samples: there are 3 and 2. Evaluate both with the same --limit."},
    {"OtherSamples",
     [](RunFile& run) {
       run.column<std::int64_t>("index", {3, 6, 9});
     },
     "not of the same samples: /index[1] is 5 and 6. Evaluate both models on the same samples."},
    {"NoTask", [](RunFile& run) { run.without("task"); }, "has no attribute 'task'"},
    {"NoIdentity", [](RunFile& run) { run.without("data_identity"); },
     "has no attribute 'data_identity'"},
};

class OtherSamplesTest : public SavedRunTest, public testing::WithParamInterface<Refusal> {};

TEST_P(OtherSamplesTest, AreRefused) {
  RunFile other = run_;
  GetParam().spoil(other);
  EXPECT_THAT(refusal_of(run_, other, GetParam().kind), HasSubstr(GetParam().text));
}
INSTANTIATE_TEST_SUITE_P(Refusals, OtherSamplesTest, testing::ValuesIn(kOtherSamples), case_name);

TEST_F(SavedRunTest, TheSameSamplesAreOfOneOrder) {
  const SavedRun a(run_.write(in("a")));
  const SavedRun b(run_.attribute("model", "other.pt").write(in("b")));
  EXPECT_EQ(require_same_samples(a, b), std::nullopt);
}

TEST_F(SavedRunTest, TheSameSamplesMayBePreparedDifferently) {
  run_.attribute("data_samples", "aaaa");
  RunFile other = run_;
  other.attribute("data_identity", "fedcba98765432101111").attribute("data", "large\x1b.h5");
  EXPECT_EQ(require_same_samples(SavedRun(run_.write(in("a"))), SavedRun(other.write(in("b")))),
            "A and B are of the same samples, prepared differently: B's data set is large\\x1b.h5");
  const SavedRun b(in("b"));
  EXPECT_EQ(b.info().data, "large\x1b.h5");
  EXPECT_EQ(b.info().data_identity, "fedcba98765432101111");
}

const std::vector<Refusal> kNotTheSame{
    {"Samples", [](RunFile& run) { run.attribute("data_samples", "bbbb"); }, "data_identity is"},
    {"NoSamples", [](RunFile& run) { run.without("data_samples"); }, "data_identity is"},
    {"EmptySamples", [](RunFile& run) { run.attribute("data_samples", ""); }, "data_identity is"},
    {"FewerSamples",
     [](RunFile& run) {
       run.column<std::int64_t>("index", {3, 5});
     },
     "there are 3 and 2. Evaluate both with the same --limit."},
};

class OtherPreparationTest : public SavedRunTest, public testing::WithParamInterface<Refusal> {};

TEST_P(OtherPreparationTest, IsOfTheSameSamplesOrRefused) {
  run_.attribute("data_samples", "aaaa");
  RunFile other = run_;
  GetParam().spoil(other.attribute("data_identity", "fedcba98765432101111"));
  EXPECT_THAT(refusal_of(run_, other, GetParam().kind), HasSubstr(GetParam().text));
}
INSTANTIATE_TEST_SUITE_P(Refusals, OtherPreparationTest, testing::ValuesIn(kNotTheSame), case_name);

// Their rows are no samples, or their values are not right or wrong by themselves.
TEST_F(SavedRunTest, TasksWithoutAPairedTestAreRefused) {
  for (const auto* task : {"detection", "language-model", "multiple-choice", "predict",
                           "question-answering", "segmentation", "a\x1b"}) {
    run_.attribute("task", task);
    EXPECT_THAT(refusal_of(run_, run_, ErrorKind::usage),
                HasSubstr("cannot be compared, expected one of binary, multiclass, multilabel, "
                          "regression"));
  }
}

}  // namespace
}  // namespace tally::compare
