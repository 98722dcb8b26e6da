// SPDX-License-Identifier: Apache-2.0
// Every option out of every set of sources: the strongest one that gives a value wins.
#include "config_fixture.hpp"

namespace tally::config {
namespace {

struct Case {
  std::string name;
  std::string from_file, from_environment, from_command_line;
  std::string unset;
};

const std::string kOnes(64, '1'), kTwos(64, '2'), kThrees(64, '3');

const std::vector<Case> kCases{
    {"model", "f.pt", "e.pt", "c.pt", "m.pt"},
    {"model-sha256", kOnes, kTwos, kThrees, ""},
    {"weights", "f", "e", "c", ""},
    {"weights-sha256", kTwos, kThrees, kOnes, ""},
    {"weights-key", "f", "e", "c", ""},
    {"weights-prefix", "f.", "e.", "c.", ""},
    {"data", "f", "e", "c", "d.h5"},
    {"output", "f", "e", "c", ""},
    {"overwrite", "true", "false", "true", "false"},
    {"resume", "true", "false", "true", "false"},
    {"checkpoint-every", "0", "0.5", "3", "60"},
    {"task", "f", "e", "c", ""},
    {"outputs", "logits", "probabilities", "log-probabilities", ""},
    {"classes-by", "name", "index", "name", "auto"},
    {"valid-classes", "f", "e", "c", ""},
    {"metrics", "f", "e,e2", "c", ""},
    {"confusion-max-classes", "1", "2", "3", "2048"},
    {"definitions", "sklearn", "torchmetrics", "sklearn", "torchmetrics"},
    {"threshold", "0", "0.25", "0.999", "0.5"},
    {"label-smoothing", "0.1", "0.2", "0.3", "0"},
    {"class-weights", "f", "e", "c", ""},
    {"calibration-bins", "10", "20", "1000", "15"},
    {"curves", "bf16", "exact", "bf16", "exact"},
    {"max-answer-length", "10", "20", "40", "30"},
    {"n-best", "1", "2", "3", "20"},
    {"no-answer-threshold", "-1.5", "2", "3", "0"},
    {"on-nan", "wrong", "fail", "wrong", "fail"},
    {"limit", "1", "2", "3", "0"},
    {"batch-size", "1", "auto", "3", "64"},
    {"bucket-batches", "1", "2", "4", "8"},
    {"precision", "fp32", "bf16", "tf32", "model"},
    {"tune", "true", "false", "true", "false"},
    {"cuda-graphs", "off", "auto", "off", "auto"},
    {"cpu-kernels", "torch", "auto", "torch", "auto"},
    {"allow-training-mode", "true", "false", "true", "false"},
    {"device", "cuda", "auto", "cpu", "auto"},
    {"reduce", "mpi", "nccl", "auto", "auto"},
    {"check-reduction", "true", "false", "true", "false"},
    {"threads", "2", "3", "4", "1"},
    {"stall-limit", "2", "0.5", "0", "60"},
    {"read-threads", "2", "3", "auto", "auto"},
    {"stage", "f", "e", "c", ""},
    {"save", "topk", "none", "logits,labels", "labels"},
    {"intervals", "off", "bootstrap", "wilson", "wilson"},
    {"bootstrap-replicas", "2", "3", "4", "1000"},
    {"seed", "1", "2", "3", "0"},
    {"gather-window", "1KiB", "2MiB", "3GiB", "64MiB"},
    {"spill-dir", "f", "e", "c", ""},
    {"progress", "bar", "log", "off", "auto"},
    {"trace", "f", "e", "c", ""},
};

std::string variable(std::string name) {
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(c));
  return "TALLY_" + name;
}

// The value of the option when the sources in the bit set `sources` give one.
std::string resolved(const Case& option, unsigned sources) {
  std::string text;
  if (option.name != "model") text += "model = m.pt\n";
  if (option.name != "data") text += "data = d.h5\n";
  const bool required = option.name == "model" || option.name == "data";
  if ((sources & 1u) != 0) {
    text += option.name + " = " + option.from_file + "\n";
  } else if (required) {
    text += option.name + " = " + option.unset + "\n";
  }
  const TemporaryFile file(text);
  Words arguments{"--config=" + file.path()};
  Words environment{"PATH=/bin"};
  if ((sources & 2u) != 0) {
    environment.push_back(variable(option.name) + "=" + option.from_environment);
  }
  if ((sources & 4u) != 0) arguments.push_back("--" + option.name + "=" + option.from_command_line);
  for (const auto& [name, value] : parse_run_options(arguments, environment).config.settings) {
    if (name == option.name) return value;
  }
  return "no such setting";
}

class Precedence : public ::testing::TestWithParam<Case> {};

TEST_P(Precedence, StrongestSourceWins) {
  const Case& option = GetParam();
  for (unsigned sources = 0; sources < 8; ++sources) {
    const std::string expected = (sources & 4u) != 0   ? option.from_command_line
                                 : (sources & 2u) != 0 ? option.from_environment
                                 : (sources & 1u) != 0 ? option.from_file
                                                       : option.unset;
    EXPECT_EQ(resolved(option, sources), expected) << option.name << " from set " << sources;
  }
}

std::string test_name(const ::testing::TestParamInfo<Case>& info) {
  std::string name = info.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(AllOptions, Precedence, ::testing::ValuesIn(kCases), test_name);

TEST(PrecedenceTable, CoversEveryOption) {
  const auto settings = parse_run_options(with_required({}), {}).config.settings;
  ASSERT_EQ(settings.size(), kCases.size() + 1);
  for (std::size_t i = 0; i < kCases.size(); ++i) EXPECT_EQ(settings[i].first, kCases[i].name);
  EXPECT_EQ(settings.back().first, "config");
}

TEST(PrecedenceOfTheFile, CommandLineNamesItBeforeTheEnvironment) {
  const TemporaryFile weak("batch-size = 1\n");
  const TemporaryFile strong("batch-size = 2\n");
  const Words environment{"TALLY_CONFIG=" + weak.path()};
  EXPECT_EQ(parse_run_options(with_required({}), environment).config.execution.batch_size, 1);
  const auto words = with_required({"--config", strong.path()});
  EXPECT_EQ(parse_run_options(words, environment).config.execution.batch_size, 2);
}

}  // namespace
}  // namespace tally::config
