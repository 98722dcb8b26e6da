// SPDX-License-Identifier: Apache-2.0
// The commands of one process, before MPI begins: what they print, and with which code they end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/files.hpp>
#include <tally/base/interrupt.hpp>
#include <tally/hdf5/writer.hpp>

#include "command_help.hpp"
#include "commands.hpp"
#include "expect_error.hpp"
#include "raw_hdf5.hpp"

namespace tally::app {
namespace {

namespace fs = std::filesystem;
using testing::ContainsRegex;
using testing::ExitedWithCode;
using testing::HasSubstr;
using testing::StartsWith;
using Words = std::vector<std::string>;

constexpr const char* kLauncherVariables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                              "SLURM_PROCID"};

// A process that no launcher started.
class SingleProcessTest : public testing::Test {
 protected:
  SingleProcessTest() {
    for (const auto* variable : kLauncherVariables) ::unsetenv(variable);
  }
  ~SingleProcessTest() override {
    for (const auto* variable : kLauncherVariables) ::unsetenv(variable);
  }

  static int run(const Words& words) {
    int argc = 0;
    char** argv = nullptr;
    return run_command(words, argc, argv);
  }
  static std::string printed(const Words& words) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(run(words), 0);
    return testing::internal::GetCapturedStdout();
  }

  std::string at(std::string_view name) const { return (folder_ / name).string(); }
  std::string write(std::string_view name, std::string_view content) const {
    std::ofstream(at(name), std::ios::binary) << content;
    return at(name);
  }
  // Saved predictions of four samples of three classes, of the data set with this identity.
  std::string save(const std::string& name, const std::vector<std::int64_t>& predictions,
                   const std::string& identity) const {
    fs::create_directory(at(name));
    hdf5::Writer file(at(name + "/predictions.h5"));
    file.set_attribute("/", "tally_predictions", 1);
    for (const auto& [attribute, text] :
         std::map<std::string, std::string>{{"task", "multiclass"},
                                            {"num_classes", "3"},
                                            {"model", "net.pt"},
                                            {"model_sha256", "aa"},
                                            {"data", "val.h5"},
                                            {"data_identity", identity},
                                            {"digest", "bb"},
                                            {"outputs", "logits"},
                                            {"definitions", "torchmetrics"},
                                            {"calibration_bins", "15"},
                                            {"label_smoothing", "0"},
                                            {"curves", "exact"}}) {
      file.set_attribute("/", attribute, std::string_view(text));
    }
    file.write("/index", {4}, std::vector<std::int64_t>{0, 1, 2, 3});
    const std::vector<std::int64_t> labels{0, 1, 2, 0};
    std::vector<std::int32_t> ranks;
    for (std::size_t i = 0; i < 4; ++i) ranks.push_back(predictions[i] == labels[i] ? 0 : 1);
    file.write("/label", {4}, labels);
    file.write("/prediction", {4}, predictions);
    file.write("/label_rank", {4}, ranks);
    file.write("/loss", {4}, std::vector<float>(4));
    file.write("/confidence", {4}, std::vector<float>(4));
    file.close();
    return at(name);
  }

  raw::TemporaryFolder folder_;
};

TEST_F(SingleProcessTest, QuestionsOfHelpAreAnsweredAlike) {
  for (const Words& words : {Words{},
                             {"--help"},
                             {"-h"},
                             {"help"},
                             {"--help", "--model"},
                             {"help", "help"},
                             {"help", "--help"}}) {
    EXPECT_EQ(printed(words), general_help());
  }
  for (const std::string command : {"evaluate", "check", "score", "inspect", "compare", "watch"}) {
    const auto text = command_help(command);
    EXPECT_EQ(printed({"help", command}), text);
    EXPECT_EQ(printed({command, "--help"}), text);
    EXPECT_EQ(printed({command, "--data", "no.h5", "-h"}), text) << "no file is looked at";
  }
  EXPECT_EQ(printed({"--version"}), version_text());
}

// Launchers start as many processes as there are to be ranks.
TEST_F(SingleProcessTest, OfManyProcessesTheFirstSpeaks) {
  for (const auto* variable : kLauncherVariables) {
    ::setenv(variable, "2", 1);
    EXPECT_EQ(printed({"--help"}), "") << variable;
    EXPECT_EQ(printed({"--version"}), "") << variable;
    EXPECT_EQ(printed({"inspect", at("gone.h5")}), "") << variable;
    EXPECT_EQ(printed({"compare", at("gone"), at("gone")}), "") << variable;
    ::setenv(variable, "0", 1);
    EXPECT_EQ(printed({"--version"}), version_text()) << variable;
    ::unsetenv(variable);
  }
}

// Samples 1 and 2 are right only in A, sample 3 only in B. Three fair coins always show one side
// twice or more, hence p = 1.
TEST_F(SingleProcessTest, TwoResultsAreCompared) {
  const auto a = save("a", {0, 1, 2, 1}, "same"), b = save("b", {0, 0, 0, 0}, "same");
  const auto text = printed({"compare", a, b, "--metrics", "accuracy"});
  EXPECT_THAT(text, ContainsRegex("\naccuracy +0.7500 +0.5000 +-0.2500 "));
  EXPECT_THAT(text, HasSubstr("McNemar's exact test, two-sided: p = 1\n"));
  EXPECT_THAT(text, HasSubstr("right -> wrong 2, wrong -> right 1, wrong -> other wrong 0\n"));
  EXPECT_THAT(printed({"compare", "--metrics=accuracy", a + "/predictions.h5", b}),
              testing::EndsWith(text.substr(text.find("\n4 samples of val.h5"))));
}

TEST_F(SingleProcessTest, TheComparisonAsJsonIsPrintedOrWritten) {
  const auto a = save("a", {0, 1, 2, 1}, "same"), b = save("b", {0, 0, 0, 0}, "same");
  const auto json = printed({"compare", a, b, "--metrics=accuracy", "--json", "-"});
  EXPECT_THAT(json, AllOf(StartsWith("{"), HasSubstr("compare_schema")));
  const auto text = printed({"compare", a, b, "--metrics=accuracy", "--json", at("c.json")});
  EXPECT_THAT(text, HasSubstr("McNemar's exact test")) << "a file takes no place of the table";
  std::ostringstream written;
  written << std::ifstream(at("c.json")).rdbuf();
  EXPECT_EQ(written.str(), json);
}

TEST_F(SingleProcessTest, AComparisonReplacesNothingButAComparisonThatMayGo) {
  const auto a = save("a", {0, 1, 2, 1}, "same"), b = save("b", {0, 0, 0, 0}, "same");
  const auto kept = write("mine.json", "{\"mine\": 1}"), none = write("none.json", "");
  fs::create_symlink(kept, at("link"));
  fs::create_symlink(at("gone"), at("dangling"));
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  const auto words = [&](const std::string& file, bool overwrite) {
    Words all{"compare", a, b, "--json", file};
    if (overwrite) all.push_back("--overwrite");
    return all;
  };
  const auto refuses = [&](const std::string& file, bool overwrite, const std::string& why) {
    const auto all = words(file, overwrite);
    expect_error(ErrorKind::output, {file, why, "Name another file"}, [&] {
      run_compare({all.begin() + 1, all.end()});
    });
  };
  for (const auto& file : {kept, none, at("link"), at("dangling"), at("pipe"), at("a")}) {
    for (const bool overwrite : {false, true}) refuses(file, overwrite, "is no");
  }
  EXPECT_FALSE(fs::exists(at("gone")));
  EXPECT_EQ(fs::file_size(kept), 11u);
  printed(words(at("c.json"), true));
  refuses(at("c.json"), false, "is there already");
  EXPECT_THAT(printed(words(at("c.json"), true)), HasSubstr("McNemar"));
}

using SingleProcessDeathTest = SingleProcessTest;

TEST_F(SingleProcessDeathTest, CommandsThatThereAreNotEndWithCode2) {
  EXPECT_EXIT(run({"train"}), ExitedWithCode(2),
              "^tally: error.2.: 'train' is no command of tally. See 'tally --help'.\n$");
  EXPECT_EXIT(run({"evaluat", "--help"}), ExitedWithCode(2), "Did you mean 'evaluate'");
  EXPECT_EXIT(run({"help", "inspekt"}), ExitedWithCode(2), "Did you mean 'inspect'");
  EXPECT_EXIT(run({"--model", "m.pt"}), ExitedWithCode(2), "'--model' is no command");
  EXPECT_EXIT(run({""}), ExitedWithCode(2), "'' is no command");
}

TEST_F(SingleProcessDeathTest, AFailureIsOneLineAndTheCodeOfItsKind) {
  const auto in_the_way = write("mine", "mine");
  const auto weights = write("w.safetensors", std::string("\2\0\0\0\0\0\0\0{}", 10));
  hdf5::Writer(at("plain.h5")).close();
  const auto fails = [&](const Words& words, int code, const std::string& line) {
    EXPECT_EXIT(run(words), ExitedWithCode(code), "^tally: error." + line + "[^\n]*\n$");
  };
  fails({"inspect"}, 2, "2.: tally inspect needs a file");
  fails({"inspect", at("gone")}, 2, "2.: .*No such file or directory");
  fails({"inspect", at("plain.h5")}, 3, "3.: .*plain.h5");
  fails({"inspect", write("a.bin", std::string("\0\1", 2))}, 4, "4.: .*a.bin");
  fails({"inspect", weights, "--to-safetensors", in_the_way}, 6, "6.: .*mine' exists already");
  fails({"compare", "a"}, 2, "2.: tally compare needs two results, got 1");
  fails({"compare", save("a", {0, 1, 2, 1}, "one"), save("b", {0, 1, 2, 1}, "another")}, 3, "3.: ");
}

// Redirected to a disk that is full, or to a reader that has gone.
TEST_F(SingleProcessDeathTest, OutputThatIsLostIsAnErrorUnlessNobodyWantsIt) {
  const std::string a = save("a", {0, 1, 2, 1}, "same");
  const auto run_into = [](int output, const Words& words) {
    let_writes_fail();
    ::dup2(output, STDOUT_FILENO);
    std::_Exit(run(words));
  };
  const UniqueDescriptor full(::open("/dev/full", O_WRONLY));
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ::close(ends[0]);
  const UniqueDescriptor unread(ends[1]);
  for (const Words& words : {Words{"--help"},
                             {"--version"},
                             {"compare", "--help"},
                             {"inspect", a + "/predictions.h5"},
                             {"compare", a, a},
                             {"compare", a, a, "--json", "-"}}) {
    EXPECT_EXIT(run_into(full.get(), words), ExitedWithCode(6),
                "^tally: error.6.: cannot write to standard output .No space left on device.");
    EXPECT_EXIT(run_into(unread.get(), words), ExitedWithCode(0), "^$") << "as head leaves";
  }
}

// A name of any bytes and of any length ends in one line, too.
TEST_F(SingleProcessDeathTest, NamesThatAreNoTextAreNoCrash) {
  EXPECT_EXIT(run({"inspect", "\xff\x01\n.h5"}), ExitedWithCode(2), "^tally: error.2.: [^\n]*\n$");
  EXPECT_EXIT(run({"inspect", std::string(5000, 'x')}), ExitedWithCode(2), "File name too long");
}

}  // namespace
}  // namespace tally::app
