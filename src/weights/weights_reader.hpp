// What the reader of one file finds in it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <tally/weights/checkpoint.hpp>

namespace tally::weights {

struct StoredWeights {
  std::map<std::string, StoredTensor> tensors;  // their parts are of file 0
  std::string location;               // where in the file: "state_dict"; empty: at the top
  std::vector<std::string> skipped;   // entries that are no tensors
  std::vector<std::string> averaged;  // where EMA weights lie beside these
};

}  // namespace tally::weights
