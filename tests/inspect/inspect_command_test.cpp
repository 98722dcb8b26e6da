// SPDX-License-Identifier: Apache-2.0
// What `tally inspect` says of each kind of file, and which files it refuses with which words.
#include <tally/inspect/inspect_command.hpp>

#include <sys/stat.h>

#include <tally/data/data_set.hpp>
#include <tally/hdf5/writer.hpp>
#include <tally/report/metrics_file.hpp>
#include <tally/report/report_json.hpp>

#include "expect_error.hpp"
#include "inspect_fixture.hpp"
#include "report_fixture.hpp"
#include "sample_file.hpp"
#include "spoil.hpp"

namespace tally::app {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using InspectCommandTest = InspectFixture;

void write_predictions(const fs::path& path) {
  hdf5::Writer file(path);
  file.set_attribute("/", "tally_predictions", 1);
  file.set_attribute("/", "task", "regression");
  file.write("/index", {2}, std::vector<std::int64_t>{0, 1});
  file.write("/loss", {2}, std::vector<float>{0.25F, 4});
  file.close();
}

TEST_F(InspectCommandTest, NamesOfFilesCannotWriteToTheTerminal) {
  const std::string name = at("\x1b[2Ja.h5"), copy = at("\x1b[2Jcopy.h5");
  data::SampleFile{}.write(name);
  EXPECT_THAT(printed({name}), AllOf(HasSubstr("\\x1b[2Ja.h5': schema 1"), Not(HasSubstr("\x1b"))));
  write_predictions(copy);
  EXPECT_THAT(printed({copy}), AllOf(HasSubstr("\\x1b[2Jcopy.h5'"), Not(HasSubstr("\x1b"))));
}

TEST_F(InspectCommandTest, OfADataSetItSaysTheStructureAndTheIdentity) {
  data::SampleFile{}.write(at("a.h5"));
  const auto text = printed({at("a.h5")});
  EXPECT_THAT(text, StartsWith("data set '" + at("a.h5") + "': schema 1, task multiclass, 10 "));
  EXPECT_THAT(text, HasSubstr("class names: class0, class1, class2, class3, class4\n"));
  EXPECT_THAT(text, EndsWith("identity: " + data::DataSet(at("a.h5")).identity() + "\n"));
  const auto line = "verified: all 10 rows read, labels in range, there are no checksums";
  EXPECT_THAT(text, Not(HasSubstr(line)));
  EXPECT_THAT(printed({"--verify", at("a.h5")}), AllOf(StartsWith(text), HasSubstr(line)));
}

// Ten rows in blocks of four are three blocks, for each of the three columns.
TEST_F(InspectCommandTest, OnlyVerifyReadsEveryRow) {
  data::SampleFile{.rows_per_block = 4}.write(at("a.h5"));
  EXPECT_THAT(printed({at("a.h5"), "--verify"}), HasSubstr("9 blocks match their checksums\n"));
  const data::ColumnInfo image = data::DataSet(at("a.h5")).info().columns.inputs[0];
  data::spoil(at("a.h5"), image);
  EXPECT_THAT(printed({at("a.h5")}), HasSubstr("3 of 3 columns have checksums"));
  expect_error(ErrorKind::dataset, {"a.h5", "/inputs/image"}, [&] {
    printed({at("a.h5"), "--verify"});
  });
}

TEST_F(InspectCommandTest, ACopyWithChecksumsIsWrittenOnceAndNamed) {
  data::SampleFile{}.write(at("a.h5"));
  testing::internal::CaptureStderr();
  EXPECT_EQ(printed({at("a.h5"), "--add-checksums", at("b.h5")}), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "tally: note: '" + at("b.h5") + "' is a copy of '" + at("a.h5") + "' with checksums\n");
  EXPECT_THAT(printed({at("b.h5"), "--verify"}), HasSubstr("blocks match their checksums"));
  write("mine.h5", "mine");
  expect_error(ErrorKind::output, {"mine.h5"}, [&] {
    printed({at("a.h5"), "--add-checksums", at("mine.h5")});
  });
  EXPECT_EQ(text_of("mine.h5"), "mine");
}

TEST_F(InspectCommandTest, OfAResultItSaysWhatTheFileHolds) {
  fs::create_directory(at("run"));
  write("run/report.json", report::to_json(report::small_report()));
  report::write_metrics_file(report::small_report(), at("run/metrics.h5"));
  write_predictions(at("run/predictions.h5"));
  const auto report = printed({at("run/report.json")});
  EXPECT_THAT(report, HasSubstr("samples: 10 of 1,234 evaluated, 1 ignored, each exactly once\n"));
  EXPECT_THAT(report, HasSubstr("digest class: " + std::string(64, 'c') + "\n"));
  EXPECT_EQ(printed({at("run")}), report) << "a folder stands for its report";
  EXPECT_THAT(printed({at("run/metrics.h5")}), HasSubstr("confusion"));
  EXPECT_THAT(printed({at("run/predictions.h5")}),
              AllOf(StartsWith("predictions file '" + at("run/predictions.h5") + "': 2 rows\n"),
                    HasSubstr("loss   float32  [2]\n")));
  for (const auto* name : {"run/report.json", "run/metrics.h5", "run/predictions.h5", "run"}) {
    expect_error(ErrorKind::usage, {"--verify is for data sets, '" + at(name) + "' is none"}, [&] {
      printed({at(name), "--verify"});
    });
  }
}

TEST_F(InspectCommandTest, RowsAreThoseOfAPredictionsFileOrOfItsFolder) {
  fs::create_directory(at("run"));
  write_predictions(at("run/predictions.h5"));
  testing::internal::CaptureStderr();
  const auto rows = printed({at("run"), "--worst", "1"});
  EXPECT_EQ(printed({"--worst=1", at("run/predictions.h5")}), rows);
  testing::internal::GetCapturedStderr();
  // The larger loss is that of the second row.
  EXPECT_THAT(rows,
              EndsWith(": 1 of 2 rows, largest loss first\nrows:\n  index  loss\n  1      4\n"));
  data::SampleFile{}.write(at("a.h5"));
  write("notes.txt", "nothing\n");
  fs::create_directory(at("empty"));
  for (const auto* name : {"a.h5", "notes.txt", "empty"}) {
    expect_error(ErrorKind::usage,
                 {"'" + at(name) + "' holds no predictions, whose rows could be shown",
                  "Give a predictions.h5, or the folder of a result that has one."},
                 [&] {
                   printed({at(name), "--wrong"});
                 });
  }
  expect_error(ErrorKind::usage, {"'" + at("gone.h5") + "' does not exist"}, [&] {
    printed({at("gone.h5"), "--show", "3"});
  });
}

TEST_F(InspectCommandTest, ATraceIsNamedAndOtherJsonIsNoReport) {
  EXPECT_EQ(printed({write("t.json", "{\"traceEvents\":[\n]}")}),
            "'" + at("t.json") + "' is the trace of a run: open it in https://ui.perfetto.dev\n");
  expect_error(ErrorKind::usage, {"other.json' is no report of tally (it is JSON with other keys)"},
               [&] { printed({write("other.json", "{}")}); });
  expect_error(ErrorKind::usage, {"cut.json' is no report of tally (it is no JSON from byte 3 on)"},
               [&] { printed({write("cut.json", "[1")}); });
}

TEST_F(InspectCommandTest, OfAFailedRunItSaysWhy) {
  const std::string failure =
      R"({"code": 3, "signal": null, "rank": 1, "host": "n7", "phase": "check_input", )"
      R"("object": null, "cause": "bad", "next_step": null, "time": "2026-01-01T00:00:00Z"})";
  write("run.error.json", "{\n  \"tally_error\": 1,\n" + failure.substr(1));
  EXPECT_EQ(printed({at("run.error.json")}),
            "failure of rank 1 on n7, 2026-01-01T00:00:00Z\nexit code: 3\nphase: check_input\n"
            "cause: bad\n");
}

TEST_F(InspectCommandTest, FoldersWithoutAResultAreRefused) {
  fs::create_directory(at("empty"));
  expect_error(ErrorKind::usage,
               {"'" + at("empty") + "' is a folder without a report.json or weights",
                "Name a file, or the folder of a result or of a checkpoint."},
               [&] { printed({at("empty")}); });
  write("empty/leaderboard.csv", "step,name\n");
  expect_error(ErrorKind::usage,
               {"' is the folder of a watch", "each result has a folder in results/."},
               [&] { printed({at("empty")}); });
  fs::create_directories(at("stopped/progress"));
  write("stopped/progress/attempt-1.rank-0.a.state", "x");
  for (const auto* name : {"stopped", "stopped/progress/attempt-1.rank-0.a.state"}) {
    expect_error(
        ErrorKind::usage,
        {"'" + at("stopped") + "' holds a run that is not complete", "goes on with --resume"},
        [&] { printed({at(name)}); });
  }
}

// Opening a pipe would wait for whatever writes to it.
TEST_F(InspectCommandTest, APipeIsRefusedWithoutWaiting) {
  for (const auto* name : {"pipe", "pipe.json", "pipe.h5", "pipe.pt"}) {
    ASSERT_EQ(::mkfifo(at(name).c_str(), 0600), 0);
    expect_error(ErrorKind::usage, {at(name), "not a regular file"}, [&] { printed({at(name)}); });
  }
}

struct StrangeFile {
  std::string content;
  ErrorKind kind = ErrorKind::usage;
  std::string message;
};

class StrangeFiles : public InspectFixture, public testing::WithParamInterface<StrangeFile> {};

TEST_P(StrangeFiles, AreRefusedByName) {
  const auto& file = GetParam();
  expect_error(file.kind, {"some\\x1bname", file.message},
               [&] { printed({write("some\x1bname", file.content)}); });
}

const std::string kText = "' is a text, none that tally knows. Name a data set, a model";

INSTANTIATE_TEST_SUITE_P(
    All, StrangeFiles,
    testing::Values(
        StrangeFile{"nothing\n", ErrorKind::usage, kText},
        StrangeFile{"\tcaf\u00e9\r\n\f", ErrorKind::usage, kText},
        StrangeFile{R"({"time": 3})", ErrorKind::usage, kText},
        StrangeFile{R"({"time": "2026", "event": "phase"})"
                    "\n{",
                    ErrorKind::usage, "' holds the events of a run, a line of JSON each"},
        StrangeFile{"", ErrorKind::model, "is empty"},
        StrangeFile{std::string("nothing\0\n", 9), ErrorKind::model, "first bytes are 6e 6f 74 68"},
        StrangeFile{"PK\x03\x04 and no end", ErrorKind::model, "was cut short"}));

TEST_F(InspectCommandTest, OneFileIsAskedFor) {
  expect_error(ErrorKind::usage, {"tally inspect needs a file. See 'tally inspect --help'."},
               [] { printed({}); });
  expect_error(ErrorKind::usage, {"unexpected word 'b' (command line)", "takes one file"}, [] {
    printed({"a", "b"});
  });
  expect_error(ErrorKind::usage, {at("gone"), "No such file or directory", "Check the path."},
               [&] { printed({at("gone")}); });
}

TEST_F(InspectCommandTest, AnHdf5FileOfOthersIsNoDataSet) {
  hdf5::Writer file(at("plain.h5"));
  file.write("/values", {3}, std::vector<float>{1, 2, 3});
  file.close();
  expect_error(ErrorKind::dataset, {"plain.h5", "tally_schema"},
               [&] { printed({at("plain.h5")}); });
}

}  // namespace
}  // namespace tally::app
