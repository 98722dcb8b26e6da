// SPDX-License-Identifier: Apache-2.0
// The command line of `tally inspect`.
#include <tally/config/inspect_options.hpp>

#include "config_fixture.hpp"

namespace tally::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string problem_of(const Words& arguments) {
  return complaint_of([&] { parse_inspect_options(arguments); });
}

TEST(InspectOptions, Defaults) {
  const InspectConfig config = parse_inspect_options({"val.h5"});
  EXPECT_EQ(config.file, "val.h5");
  EXPECT_FALSE(config.verify);
  EXPECT_EQ(config.add_checksums, "");
  EXPECT_FALSE(config.shows_samples());
}

TEST(InspectOptions, FlagsTakeNoWordThatFollows) {
  const InspectConfig verified = parse_inspect_options({"--verify", "val.h5"});
  EXPECT_EQ(verified.file, "val.h5");
  EXPECT_TRUE(verified.verify);
  const InspectConfig wrong = parse_inspect_options({"--wrong", "run", "--worst", "3"});
  EXPECT_EQ(wrong.file, "run");
  EXPECT_TRUE(wrong.samples.wrong);
  EXPECT_EQ(wrong.samples.worst, 3);
  EXPECT_FALSE(parse_inspect_options({"val.h5", "--verify=false"}).verify);
  EXPECT_EQ(parse_inspect_options({"val.h5", "--add-checksums", "copy.h5"}).add_checksums,
            "copy.h5");
}

TEST(InspectOptions, TheKeyOfWeightsIsForThemAlone) {
  EXPECT_EQ(parse_inspect_options({"run.pt", "--weights-key", "ema.model"}).weights_key,
            "ema.model");
  EXPECT_THAT(problem_of({"run.pt", "--weights-kee=a"}),
              HasSubstr("Did you mean '--weights-key'?"));
  EXPECT_THAT(problem_of({"run.pt", "--weights-key=a", "--verify"}),
              HasSubstr("--weights-key is for weights, not for data sets"));
  EXPECT_THAT(problem_of({"run.pt", "--weights-key=a", "--worst=3"}),
              HasSubstr("--weights-key is for weights, not for the rows of predictions"));
}

TEST(InspectOptions, WeightsAreWrittenAsOneFile) {
  const auto config = parse_inspect_options({"run.pt", "--to-safetensors", "all.safetensors",
                                             "--weights-prefix=net.", "--like", "list.json"});
  EXPECT_EQ(config.to_safetensors, "all.safetensors");
  EXPECT_EQ(config.weights_prefix, "net.");
  EXPECT_EQ(config.like, "list.json");
  EXPECT_THAT(problem_of({"run.pt", "--like", "list.json"}),
              HasSubstr("--like is given without --to-safetensors"));
  EXPECT_THAT(problem_of({"run.pt", "--weights-prefix=net."}),
              HasSubstr("--weights-prefix is given without --to-safetensors"));
  EXPECT_THAT(problem_of({"run.pt", "--to-safetensors=x", "--verify"}),
              HasSubstr("--to-safetensors is for weights, not for data sets"));
}

TEST(InspectOptions, GroupsMayBeGivenSeveralTimes) {
  const SampleChoice samples =
      parse_inspect_options({"--group", "camera=-1", "run", "--group=site=2", "--class", "-1",
                             "--predicted=a cat", "--show=4", "--data", "moved.h5"})
          .samples;
  EXPECT_THAT(samples.groups, ElementsAre("camera=-1", "site=2"));
  EXPECT_EQ(samples.label, "-1");
  EXPECT_EQ(samples.predicted, "a cat");
  EXPECT_EQ(samples.show, 4);
  EXPECT_EQ(samples.data, "moved.h5");
  EXPECT_FALSE(samples.wrong);
}

TEST(InspectOptions, ImagesAreCopiedFromAFolderToAnother) {
  const InspectConfig config =
      parse_inspect_options({"run", "--copy-images", "new", "--images=val", "--worst=3"});
  EXPECT_EQ(config.samples.copy_images, "new");
  EXPECT_EQ(config.samples.images, "val");
  EXPECT_TRUE(parse_inspect_options({"run", "--copy-images=a", "--images=b"}).shows_samples());
  EXPECT_EQ(problem_of({"run", "--copy-images=new", "--worst=3"}),
            "--copy-images is given without --images");
  EXPECT_EQ(problem_of({"run", "--images=val"}), "--images is given without --copy-images");
  EXPECT_THAT(problem_of({"run", "--copy-images=new", "--images=val", "--verify"}),
              HasSubstr("--verify is for data sets"));
}

TEST(InspectOptions, EverySampleOptionShowsSamples) {
  for (const Words& words :
       {Words{"--worst=1"}, Words{"--show=1"}, Words{"--class=1"}, Words{"--predicted=1"},
        Words{"--group=a=1"}, Words{"--wrong"}, Words{"--data=val.h5"}}) {
    EXPECT_TRUE(parse_inspect_options({"run", words[0]}).shows_samples()) << words[0];
    EXPECT_THAT(problem_of({"run", words[0], "--verify"}), HasSubstr("--verify is for data sets"));
    EXPECT_THAT(problem_of({"run", words[0], "--add-checksums=copy.h5"}),
                HasSubstr("--add-checksums is for data sets"));
  }
}

TEST(InspectOptions, Refusals) {
  EXPECT_EQ(problem_of({}), "tally inspect needs a file. See 'tally inspect --help'.");
  EXPECT_EQ(problem_of({"--verify"}), "tally inspect needs a file. See 'tally inspect --help'.");
  EXPECT_THAT(problem_of({"one", "tw\x1b[o"}),
              HasSubstr("unexpected word 'tw\\x1b[o' (command line): tally inspect takes one"));
  EXPECT_EQ(problem_of({"one", "--wurst", "3"}),
            "unknown option '--wurst' (command line). Did you mean '--worst'?");
  EXPECT_THAT(problem_of({"one", "-worst"}), HasSubstr("unknown option '-worst'"));
  EXPECT_THAT(problem_of({"one", "--worst"}), HasSubstr("--worst (command line) has no value"));
  EXPECT_THAT(problem_of({"one", "--class", "--wrong"}),
              HasSubstr("--class (command line) has no"));
  EXPECT_THAT(problem_of({"one", "--worst", "0"}), HasSubstr("--worst = '0' (command line)"));
  EXPECT_THAT(problem_of({"one", "--show=many"}), HasSubstr("expected a whole number from 1 to"));
  EXPECT_THAT(problem_of({"one", "--group", ""}), HasSubstr("a value that is not empty"));
  EXPECT_THAT(problem_of({"one", "--class=1", "--class=2"}), HasSubstr("given twice"));
  EXPECT_EQ(problem_of({"one", "--worst=1", "--show=1"}),
            "--worst and --show exclude each other. --worst N says how many.");
  EXPECT_EQ(problem_of({"one", "--verify", "--add-checksums=two"}),
            "--verify and --add-checksums exclude each other. The copy is verified in any case.");
}

TEST(InspectOptions, HelpNamesThemAll) {
  const std::string help = inspect_options_help();
  for (const char* option : {"verify", "add-checksums", "worst", "show", "class", "predicted",
                             "group", "wrong", "data", "copy-images", "images"}) {
    EXPECT_THAT(help, HasSubstr(format("--{} ", option)));
  }
  EXPECT_THAT(help, HasSubstr("(default: 20)"));
  EXPECT_THAT(help, ::testing::Not(HasSubstr("default: 0")));
}

}  // namespace
}  // namespace tally::config
