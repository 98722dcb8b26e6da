// SPDX-License-Identifier: Apache-2.0
// The output folder of a watch: whose it is, and which watch may go on in it.
#include "watch_folder.hpp"

#include "watch_fixture.hpp"

namespace tally::app {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class WatchFolderTest : public WatchFixture {
 protected:
  static void watch_into_it(const EvaluationSession& session) { const WatchFolder output(session); }
  // A watch that was there and has ended.
  void leave_one() { WatchFolder(session()).mark_ended(); }
};

TEST_F(WatchFolderTest, SaysWhatItIsOfAndWhetherItHasEnded) {
  const WatchFolder output(session());
  EXPECT_EQ(output.path(), at("out"));
  const auto begun = text_of("out/watch.json");
  for (const auto* part :
       {"the data's identity", "the model's digest", "\"limit\": \"0\"", "\"ended\": null"}) {
    EXPECT_THAT(begun, HasSubstr(part));
  }
  output.mark_ended();
  EXPECT_THAT(text_of("out/watch.json"), Not(HasSubstr("\"ended\": null")));
}

TEST_F(WatchFolderTest, PathsMayHoldAnyBytes) {
  config_.settings.emplace_back("class-weights", "mod\xe8le.txt");
  for (int time = 0; time < 2; ++time) {  // a watch, and one that goes on
    auto odd = session();
    odd.model.model.path = "mod\xe8le.pt";
    watch_into_it(odd);
    EXPECT_THAT(text_of("out/watch.json"), HasSubstr("mod\xef\xbf\xbdle.pt"));
  }
}

TEST_F(WatchFolderTest, AWatchThatGoesOnHasNotEnded) {
  leave_one();
  const WatchFolder again(session());
  EXPECT_THAT(text_of("out/watch.json"), HasSubstr("\"ended\": null"));
}

TEST_F(WatchFolderTest, OneProcessWatchesIntoAFolder) {
  {
    const WatchFolder output(session());
    expect_error(ErrorKind::output,
                 {"another process watches into '" + at("out").string() + "', or writes there",
                  "Name another folder with --output."},
                 [&] { watch_into_it(session()); });
  }
  EXPECT_NO_THROW(watch_into_it(session()));
}

struct Difference {
  std::string says;  // empty: it may go on
  void (*change)(EvaluationSession& session);
};

class WatchDifferences : public WatchFolderTest, public testing::WithParamInterface<Difference> {};

TEST_P(WatchDifferences, WhatDecidesTheFiguresStaysTheSame) {
  leave_one();
  const auto before = text_of("out/watch.json");
  auto other = session();
  GetParam().change(other);
  if (GetParam().says.empty()) {
    EXPECT_NO_THROW(watch_into_it(other));
    return;
  }
  expect_error(ErrorKind::output,
               {"the watch in '" + at("out").string() + "' " + GetParam().says + ". Name another"},
               [&] { watch_into_it(other); });
  EXPECT_EQ(text_of("out/watch.json"), before);
}

INSTANTIATE_TEST_SUITE_P(
    All, WatchDifferences,
    testing::Values(Difference{"is of another model", [](auto& s) { s.model.model.digest = "x"; }},
                    Difference{"was made with another card beside the model",
                               [](auto& s) { s.model.card_digest = "x"; }},
                    Difference{"is of another data set", [](auto& s) { s.data.file.digest = "x"; }},
                    Difference{"was made with other class weights",
                               [](auto& s) { s.scoring.class_weights_digest = "x"; }},
                    Difference{"", [](auto& s) { s.model.model.path = "moved.pt"; }},
                    Difference{"", [](auto& s) { s.data.file.path = "moved.h5"; }}));

TEST_F(WatchFolderTest, OptionsThatChangeNoMetricMayChange) {
  leave_one();
  config_.settings[1].second = "8";         // of the batch
  config_.settings[2].second = "moved.h5";  // the data set's path
  EXPECT_NO_THROW(watch_into_it(session()));
  config_.settings.emplace_back("stall-limit", "5");
  EXPECT_NO_THROW(watch_into_it(session()));
  config_.settings[0].second = "10";  // how many samples
  expect_error(ErrorKind::output, {"was made with another --limit"},
               [&] { watch_into_it(session()); });
  config_.settings[0] = {"threshold", "0.5"};  // which the earlier one did not have
  expect_error(ErrorKind::output, {"was made with another --threshold"},
               [&] { watch_into_it(session()); });
}

class DamagedWatchFiles : public WatchFolderTest,
                          public testing::WithParamInterface<std::pair<const char*, const char*>> {
};

TEST_P(DamagedWatchFiles, AreRefusedAndStay) {
  const auto [content, says] = GetParam();
  write("out/watch.json", content);
  expect_error(ErrorKind::output, {"the watch in '", says}, [&] { watch_into_it(session()); });
  EXPECT_EQ(text_of("out/watch.json"), content);
}

constexpr const char* kDamaged = "holds a damaged watch.json";

INSTANTIATE_TEST_SUITE_P(
    All, DamagedWatchFiles,
    testing::Values(std::pair("", kDamaged), std::pair("{", kDamaged), std::pair("[1]", kDamaged),
                    std::pair("null", kDamaged), std::pair("\xff\xfe", kDamaged),
                    std::pair(R"({"schema": 2, "model": [1]})", kDamaged),
                    std::pair(R"({"schema": 2})", "is of another model"),
                    std::pair(R"({"schema": 1})", "was written by another version of tally"),
                    std::pair("{}", "was written by another version of tally")));

TEST_F(WatchFolderTest, TheFolderOfCheckpointsMustBeThere) {
  config_.watch.checkpoints = at("none");
  expect_error(ErrorKind::environment,
               {"'" + at("none").string() + "' is not there, a folder for checkpoints",
                "Make it before the watch begins, or mend --checkpoints."},
               [&] { watch_into_it(session()); });
  write("file", "");
  config_.watch.checkpoints = at("file");
  expect_error(ErrorKind::environment, {"is no folder", "that training writes to"},
               [&] { watch_into_it(session()); });
  EXPECT_FALSE(fs::exists(at("out")));
}

TEST_F(WatchFolderTest, ResultsDoNotGoAmongTheCheckpoints) {
  auto made = session();
  for (const auto* folder : {"in", "in/", "in/../in"}) {
    made.output.folder = at(folder);
    expect_error(ErrorKind::usage, {"--output is the folder of the checkpoints"},
                 [&] { watch_into_it(made); });
  }
  EXPECT_TRUE(fs::is_empty(at("in")));
}

TEST_F(WatchFolderTest, AFolderThatCannotBeMadeIsNamed) {
  write("file", "");
  auto made = session();
  made.output.folder = at("file/out");
  expect_error(ErrorKind::output,
               {"output folder '" + at("file/out").string() + "' cannot be created (Not a"},
               [&] { watch_into_it(made); });
}

}  // namespace
}  // namespace tally::app
