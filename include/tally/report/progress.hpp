// SPDX-License-Identifier: Apache-2.0
// Shows on stderr how far a run has come while it runs, by a bar or by log lines.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace tally::report {

enum class ProgressStyle { bar, log, off };
// "auto" is a bar if stderr is a terminal, else log lines. Error(usage) for an unknown word.
ProgressStyle progress_style_from_name(std::string_view word);

// A bar that is redrawn at most ten times a second, or a line every ten seconds and one at the end.
// Rank 0's own share stands for the whole job: ranks do not talk inside the loop.
class ProgressDisplay {
 public:
  ProgressDisplay(ProgressStyle style, std::int64_t total_samples);
  ~ProgressDisplay();
  void update(std::int64_t samples_done, std::optional<double> accuracy);
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tally::report
