// SPDX-License-Identifier: Apache-2.0
// What a progress display prints and when, as a pure function of the time that it is given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <tally/report/progress.hpp>

namespace tally::report {

class ProgressRenderer {
 public:
  ProgressRenderer(ProgressStyle style, std::int64_t total_samples)
      : style_(style), total_samples_(total_samples) {}

  // What to print now, `elapsed_s` after the start; empty if nothing is due.
  std::string update(double elapsed_s, std::int64_t samples_done, std::optional<double> accuracy);
  // The last state, once; then the line is closed.
  std::string finish(double elapsed_s);
  // Closes a line that is still open, for whatever is printed next.
  std::string abandon();

 private:
  bool is_due(double elapsed_s) const;
  std::string drawn(double elapsed_s);

  ProgressStyle style_;
  std::int64_t total_samples_;
  std::int64_t samples_done_ = 0;
  std::optional<double> accuracy_;
  std::optional<double> drawn_at_s_;
  bool line_is_open_ = false;
  bool is_finished_ = false;
};

// The line that the display shows: "412/1000 samples, 41 %, 153.2/s, 0:04 left, accuracy 0.9120".
std::string progress_text(std::int64_t done, std::int64_t total, double elapsed_s,
                          std::optional<double> accuracy);

// "[#######---------]  412/1000 samples, …": text with as much bar as fits into 79 columns, padded
// to them so that it covers what stood there.
std::string bar_line(std::int64_t done, std::int64_t total, const std::string& text);

}  // namespace tally::report
