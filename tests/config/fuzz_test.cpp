// SPDX-License-Identifier: Apache-2.0
// Random words, variables and files: an answer or one Error(usage), never anything else.
#include <random>

#include <tally/base/printable.hpp>

#include "config_fixture.hpp"

namespace tally::config {
namespace {

class RandomWords {
 public:
  explicit RandomWords(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t limit) { return random_() % limit; }

  std::string noise() {
    std::string text(below(9), ' ');
    for (char& c : text) c = static_cast<char>(1 + below(255));
    return text;
  }

  std::string value() {
    static const Words kValues{"",
                               "0",
                               "1",
                               "-1",
                               "64",
                               "12x",
                               "1GiB",
                               "true",
                               "cpu",
                               "auto",
                               "none",
                               "topk",
                               "a,b",
                               ",",
                               "=",
                               "m.pt",
                               "1e400",
                               "0x1",
                               "99999999999999999999",
                               "log",
                               "--",
                               "#"};
    return below(4) == 0 ? noise() : kValues[below(kValues.size())];
  }

  std::string name() {
    static const Words kNames{
        "model",         "data",     "weights", "limit",    "batch-size",
        "threads",       "save",     "device",  "metrics",  "overwrite",
        "gather-window", "progress", "outputs", "nonsense", "confusion-max-classes"};
    return below(8) == 0 ? noise() : kNames[below(kNames.size())];
  }

 private:
  std::mt19937 random_;
};

Words random_arguments(RandomWords& random) {
  Words arguments;
  if (random.below(2) == 0) arguments = with_required({});
  for (std::size_t left = random.below(6); left > 0; --left) {
    const auto form = random.below(4);
    if (form == 0) arguments.push_back(random.value());
    if (form == 1) arguments.push_back("--" + random.name() + "=" + random.value());
    if (form >= 2) {
      arguments.push_back("--" + random.name());
      arguments.push_back(random.value());
    }
  }
  return arguments;
}

Words random_environment(RandomWords& random) {
  Words environment;
  for (std::size_t left = random.below(4); left > 0; --left) {
    std::string name = random.name();
    for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(c & 0x7f));
    environment.push_back("TALLY_" + name + "=" + random.value());
  }
  return environment;
}

std::string random_file(RandomWords& random) {
  std::string text;
  for (std::size_t left = random.below(5); left > 0; --left) {
    text += random.below(5) == 0 ? random.noise() : random.name() + " = " + random.value();
    text += random.below(9) == 0 ? "\r\n" : "\n";
  }
  return text;
}

// Settings of a success must be accepted again as they stand; a failure is one printable line.
bool survives(const Words& arguments, const Words& environment) {
  Words again;
  try {
    for (const auto& [name, value] : parse_run_options(arguments, environment).config.settings) {
      if (!value.empty()) again.push_back("--" + name + "=" + value);
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
    EXPECT_EQ(printable(error.what()), error.what());
    return false;
  }
  EXPECT_EQ(complaint(again), "no error");
  return true;
}

TEST(Fuzz, CommandLineAndEnvironment) {
  RandomWords random(20261);
  int num_accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    num_accepted += survives(random_arguments(random), random_environment(random)) ? 1 : 0;
  }
  EXPECT_GT(num_accepted, 200);
}

TEST(Fuzz, ConfigFile) {
  RandomWords random(20262);
  int num_accepted = 0;
  for (int round = 0; round < 2000; ++round) {
    const TemporaryFile file(random_file(random));
    num_accepted += survives(with_required({"--config", file.path()}), {}) ? 1 : 0;
  }
  EXPECT_GT(num_accepted, 50);
}

}  // namespace
}  // namespace tally::config
