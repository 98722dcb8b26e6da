// SPDX-License-Identifier: Apache-2.0
// Collects the notes of a run for its user, which the report lists beside the metrics.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tally::app {

// A function that has something to say is given one; nothing else collects notes.
class Notes {
 public:
  void add(std::string note) { all_.push_back(std::move(note)); }
  void add(const std::vector<std::string>& notes) {
    all_.insert(all_.end(), notes.begin(), notes.end());
  }
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::vector<std::string> all_;
};

}  // namespace tally::app
