// SPDX-License-Identifier: Apache-2.0
// What each option stores.
#include "config_fixture.hpp"

namespace tally::config {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

RunConfig parsed(const Words& more) { return parse_run_options(with_required(more), {}).config; }

TEST(Parse, DefaultsAreThoseOfTheStruct) {
  const RunConfig config = parsed({});
  const RunConfig fresh;
  EXPECT_EQ(config.files.model, "m.pt");
  EXPECT_EQ(config.files.data, "d.h5");
  EXPECT_EQ(config.files.weights, "");
  EXPECT_EQ(config.files.output, "");
  EXPECT_FALSE(config.files.overwrite);
  EXPECT_EQ(config.execution.batch_size, fresh.execution.batch_size);
  EXPECT_EQ(config.results.gather_window_bytes, fresh.results.gather_window_bytes);
  EXPECT_THAT(config.results.save, ElementsAre("labels"));
  EXPECT_THAT(config.scoring.names, IsEmpty());
  EXPECT_EQ(config.execution.threads, 1);
}

TEST(Parse, StoresEveryOption) {
  const RunConfig config = parse_run_options({"--model=a b.pt",
                                              "--weights",
                                              "w=1.pt",
                                              "--weights-key=k",
                                              "--weights-prefix=net.",
                                              "--data",
                                              "ü.h5",
                                              "--output",
                                              "-odd",
                                              "--overwrite",
                                              "--task",
                                              "multiclass",
                                              "--outputs",
                                              "probabilities",
                                              "--metrics",
                                              "loss, accuracy",
                                              "--confusion-max-classes",
                                              "0",
                                              "--limit",
                                              "9223372036854775807",
                                              "--batch-size",
                                              "16777216",
                                              "--device",
                                              "cpu",
                                              "--reduce",
                                              "mpi",
                                              "--threads",
                                              "4096",
                                              "--save",
                                              "topk,logits",
                                              "--gather-window",
                                              "1GiB",
                                              "--spill-dir",
                                              "/s",
                                              "--progress",
                                              "off"},
                                             {})
                               .config;
  EXPECT_EQ(config.files.model, "a b.pt");
  EXPECT_EQ(config.files.weights, "w=1.pt");
  EXPECT_EQ(config.files.weights_key, "k");
  EXPECT_EQ(config.files.weights_prefix, "net.");
  EXPECT_EQ(config.files.data, "ü.h5");
  EXPECT_EQ(config.files.output, "-odd");
  EXPECT_TRUE(config.files.overwrite);
  EXPECT_EQ(config.scoring.task, "multiclass");
  EXPECT_EQ(config.scoring.outputs, "probabilities");
  EXPECT_THAT(config.scoring.names, ElementsAre("loss", "accuracy"));
  EXPECT_EQ(config.scoring.confusion_max_classes, 0);
  EXPECT_EQ(config.scoring.limit, INT64_MAX);
  EXPECT_EQ(config.execution.batch_size, 16777216);
  EXPECT_EQ(config.execution.device, "cpu");
  EXPECT_EQ(config.execution.reduce, "mpi");
  EXPECT_EQ(config.execution.threads, 4096);
  EXPECT_THAT(config.results.save, ElementsAre("topk", "logits"));
  EXPECT_EQ(config.results.gather_window_bytes, std::int64_t{1} << 30);
  EXPECT_EQ(config.results.spill_dir, "/s");
  EXPECT_EQ(config.results.progress, "off");
}

TEST(Parse, SettingsHoldAllOptionsInTableOrder) {
  const auto settings = parsed({"--batch-size", "0032", "--gather-window", "65536", "--overwrite",
                                "--metrics", " loss , accuracy "})
                            .settings;
  const std::vector<std::pair<std::string, std::string>> expected{{"model", "m.pt"},
                                                                  {"model-sha256", ""},
                                                                  {"weights", ""},
                                                                  {"weights-sha256", ""},
                                                                  {"weights-key", ""},
                                                                  {"weights-prefix", ""},
                                                                  {"data", "d.h5"},
                                                                  {"output", ""},
                                                                  {"overwrite", "true"},
                                                                  {"resume", "false"},
                                                                  {"checkpoint-every", "60"},
                                                                  {"task", ""},
                                                                  {"outputs", ""},
                                                                  {"classes-by", "auto"},
                                                                  {"valid-classes", ""},
                                                                  {"metrics", "loss,accuracy"},
                                                                  {"confusion-max-classes", "2048"},
                                                                  {"definitions", "torchmetrics"},
                                                                  {"threshold", "0.5"},
                                                                  {"label-smoothing", "0"},
                                                                  {"class-weights", ""},
                                                                  {"calibration-bins", "15"},
                                                                  {"curves", "exact"},
                                                                  {"max-answer-length", "30"},
                                                                  {"n-best", "20"},
                                                                  {"no-answer-threshold", "0"},
                                                                  {"on-nan", "fail"},
                                                                  {"limit", "0"},
                                                                  {"batch-size", "32"},
                                                                  {"bucket-batches", "8"},
                                                                  {"precision", "model"},
                                                                  {"tune", "false"},
                                                                  {"cuda-graphs", "auto"},
                                                                  {"cpu-kernels", "auto"},
                                                                  {"allow-training-mode", "false"},
                                                                  {"device", "auto"},
                                                                  {"reduce", "auto"},
                                                                  {"check-reduction", "false"},
                                                                  {"threads", "1"},
                                                                  {"stall-limit", "60"},
                                                                  {"read-threads", "auto"},
                                                                  {"stage", ""},
                                                                  {"save", "labels"},
                                                                  {"intervals", "wilson"},
                                                                  {"bootstrap-replicas", "1000"},
                                                                  {"seed", "0"},
                                                                  {"gather-window", "64KiB"},
                                                                  {"spill-dir", ""},
                                                                  {"progress", "auto"},
                                                                  {"trace", ""},
                                                                  {"config", ""}};
  EXPECT_EQ(settings, expected);
}

TEST(Parse, SettingsComeBackThroughAConfigFile) {
  const auto settings =
      parsed({"--weights", "w x.safetensors", "--batch-size", "7", "--overwrite", "--save",
              "topk,labels", "--gather-window", "3MiB", "--threads", "2", "--metrics", "loss"})
          .settings;
  std::string text;
  for (const auto& [name, value] : settings) text += name + " = " + value + "\n";
  const TemporaryFile file(text);
  auto again = parse_run_options({"--config", file.path()}, {}).config.settings;
  EXPECT_EQ(again.back(), std::pair(std::string("config"), file.path()));
  again.back().second.clear();
  EXPECT_EQ(again, settings);
}

TEST(Parse, ConfigFileTakesCommentsBlanksAndWindowsLines) {
  const TemporaryFile file(
      "# a run\r\n\r\n  model=m.pt\r\n  # trusted\r\ndata =  d e.h5  \r\noverwrite = "
      "true\r\nlimit=3");
  const RunConfig config = parse_run_options({"--config", file.path()}, {}).config;
  EXPECT_EQ(config.files.model, "m.pt");
  EXPECT_EQ(config.files.data, "d e.h5");
  EXPECT_TRUE(config.files.overwrite);
  EXPECT_EQ(config.scoring.limit, 3);
}

TEST(Parse, FileSetsAFlagThatTheCommandLineTakesBack) {
  const TemporaryFile file("overwrite = true\n");
  const auto words = with_required({"--config", file.path(), "--overwrite=false"});
  EXPECT_FALSE(parse_run_options(words, {}).config.files.overwrite);
}

TEST(Parse, ListsReplaceAndDoNotAddUp) {
  const TemporaryFile file("save = logits\nmetrics = loss\n");
  const auto words = with_required({"--config", file.path(), "--save", "topk"});
  const RunConfig config = parse_run_options(words, {"TALLY_METRICS=accuracy"}).config;
  EXPECT_THAT(config.results.save, ElementsAre("topk"));
  EXPECT_THAT(config.scoring.names, ElementsAre("accuracy"));
}

TEST(Parse, VariablesOfScriptsAreKnownAndOthersAreHandedBack) {
  const auto result = parse_run_options(
      with_required({}),
      {"TALLY_ENV=x", "TALLY_BIN=x", "TALLY_PYTHON=x", "TALLY_DATA_DIR=x", "TALLY_TEST_RANKS=3",
       "TALLY_ALLOW_SEPARATE_JOBS=1", "TALLY_ALLOW_SHARED_GPU=1", "TALLY_BATCHSIZE=3",
       "tally_limit=3", "TALLY_=1", "HOME=/", "NOEQUALS", "TALLY_WITHOUT", "=x", ""});
  EXPECT_THAT(result.unknown_variables, ElementsAre("TALLY_BATCHSIZE", "TALLY_"));
  EXPECT_EQ(result.config.execution.batch_size, 64);
}

TEST(Parse, AnEmptyVariableIsNotSet) {
  const auto result = parse_run_options(with_required({}), {"TALLY_LIMIT=", "TALLY_WEIGHTS="});
  EXPECT_EQ(result.config.scoring.limit, 0);
}

}  // namespace
}  // namespace tally::config
