// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdio>

#include <tally/base/clock.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/report/progress.hpp>

#include "progress_renderer.hpp"

namespace tally::report {
namespace {

// A progress line that cannot be shown must not stop a run, so that the result is not looked at.
void show(const std::string& text) {
  if (!text.empty()) std::fputs(text.c_str(), stderr);
}

}  // namespace

ProgressStyle progress_style_from_name(std::string_view word) {
  if (word == "bar") return ProgressStyle::bar;
  if (word == "log") return ProgressStyle::log;
  if (word == "off") return ProgressStyle::off;
  // A file would keep every bar that was drawn.
  if (word == "auto") return ::isatty(STDERR_FILENO) == 1 ? ProgressStyle::bar : ProgressStyle::log;
  throw Error(ErrorKind::usage,
              format("'{}' is no progress style, expected auto, bar, log or off", printable(word)));
}

struct ProgressDisplay::Impl {
  ProgressRenderer renderer;
  Stopwatch since_start;
};

ProgressDisplay::ProgressDisplay(ProgressStyle style, std::int64_t total_samples)
    : impl_(std::make_unique<Impl>(Impl{ProgressRenderer(style, total_samples), Stopwatch()})) {}

// A run that fails leaves the bar open; its message begins on a line of its own.
ProgressDisplay::~ProgressDisplay() { show(impl_->renderer.abandon()); }

void ProgressDisplay::update(std::int64_t samples_done, std::optional<double> accuracy) {
  show(impl_->renderer.update(impl_->since_start.elapsed_s(), samples_done, accuracy));
}

void ProgressDisplay::finish() { show(impl_->renderer.finish(impl_->since_start.elapsed_s())); }

}  // namespace tally::report
