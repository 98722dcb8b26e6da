// SPDX-License-Identifier: Apache-2.0
#include "progress_renderer.hpp"

#include <algorithm>
#include <utility>

#include <tally/base/format.hpp>

#include "number_format.hpp"

namespace tally::report {
namespace {

// In seconds, as progress.hpp promises: at most ten bars a second, and a log line every ten
// seconds.
constexpr double kBarInterval = 0.1;
constexpr double kLogInterval = 10.0;
// A usual terminal has one column more, and writing there would wrap the line.
constexpr std::size_t kColumns = 79;
constexpr std::size_t kLongestBar = 30;
// A shorter bar would show little, so that the text gets the whole line.
constexpr std::size_t kShortestBar = 8;

double share_of(std::int64_t done, std::int64_t total) {
  // A set without samples is done, and its share would be 0/0.
  if (total <= 0) return 1.0;
  return std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
}

}  // namespace

std::string progress_text(std::int64_t done, std::int64_t total, double elapsed_s,
                          std::optional<double> accuracy) {
  std::string text =
      format("{}/{} samples, {} %", done, total, static_cast<int>(100 * share_of(done, total)));
  // Without samples or time there is no rate, and no estimate that is made of it.
  if (done > 0 && elapsed_s > 0) {
    const double per_s = static_cast<double>(done) / elapsed_s;
    text += ", " + rate_text(per_s);
    text += done < total
                ? format(", {} left", clock_text(static_cast<double>(total - done) / per_s))
                : format(", in {}", clock_text(elapsed_s));
  }
  if (accuracy) text += format(", accuracy {:.4f}", *accuracy);
  return text;
}

std::string bar_line(std::int64_t done, std::int64_t total, const std::string& text) {
  constexpr std::size_t kFrame = 3;  // "[", "]" and a blank
  const std::size_t room = kColumns - std::min(kColumns, text.size() + kFrame);
  // The precision cuts a text that is too long, for a wrapped line could not be drawn over.
  if (room < kShortestBar) return format("{:<{}.{}}", text, kColumns, kColumns);
  const std::size_t length = std::min(room, kLongestBar);
  const auto filled = static_cast<std::size_t>(share_of(done, total) * static_cast<double>(length));
  const auto bar = std::string(filled, '#') + std::string(length - filled, '-');
  return format("{:<{}}", format("[{}] {}", bar, text), kColumns);
}

std::string ProgressRenderer::update(double elapsed_s, std::int64_t samples_done,
                                     std::optional<double> accuracy) {
  samples_done_ = samples_done;
  accuracy_ = accuracy;
  return is_due(elapsed_s) ? drawn(elapsed_s) : std::string();
}

std::string ProgressRenderer::finish(double elapsed_s) {
  if (is_finished_ || style_ == ProgressStyle::off || samples_done_ == 0) return abandon();
  const std::string last = drawn(elapsed_s);
  return last + abandon();
}

std::string ProgressRenderer::abandon() {
  // Nothing is drawn from here on, so that a message that follows is not overwritten. Only a bar
  // leaves its line open: log lines end in a line break.
  is_finished_ = true;
  return std::exchange(line_is_open_, false) ? "\n" : "";
}

bool ProgressRenderer::is_due(double elapsed_s) const {
  if (is_finished_ || style_ == ProgressStyle::off) return false;
  // The first line of a log comes after one interval, the first bar at once.
  if (style_ == ProgressStyle::log) return elapsed_s - drawn_at_s_.value_or(0.0) >= kLogInterval;
  return !drawn_at_s_ || elapsed_s - *drawn_at_s_ >= kBarInterval;
}

std::string ProgressRenderer::drawn(double elapsed_s) {
  drawn_at_s_ = elapsed_s;
  const auto text = progress_text(samples_done_, total_samples_, elapsed_s, accuracy_);
  if (style_ == ProgressStyle::log) return format("tally: {}\n", text);
  // The '\r' goes back to the begin of the line, and the new bar covers the old one.
  line_is_open_ = true;
  return format("\r{}", bar_line(samples_done_, total_samples_, text));
}

}  // namespace tally::report
