// What follows from whether AMX is announced and works: pure logic, apart from the trial.
#pragma once

#include <string>
#include <vector>

namespace tally::model {

struct AmxFacts {
  bool is_announced = false;
  bool works = false;
  // What the user allows the libraries at most; empty where nothing is said.
  std::string onednn_cap{};
  std::string mkl_cap{};
};

struct EnvironmentVariable {
  std::string name;
  std::string value;
  bool operator==(const EnvironmentVariable&) const = default;
};

struct AmxDecision {
  bool is_left_out = false;
  std::vector<EnvironmentVariable> to_set;
};

// A cap of the user's that leaves AMX out already is kept; one that allows it is replaced.
AmxDecision decide_amx(const AmxFacts& facts);

}  // namespace tally::model
