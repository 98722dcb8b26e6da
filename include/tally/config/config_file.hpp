// SPDX-License-Identifier: Apache-2.0
// A config file that has been read.
#pragma once

#include <string>

namespace tally::config {

struct ConfigFile {
  std::string path;  // empty: there is none
  std::string text;
};

}  // namespace tally::config
