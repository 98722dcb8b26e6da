// SPDX-License-Identifier: Apache-2.0
#include <tally/watch/early_stopping.hpp>

#include <cmath>
#include <optional>

#include <tally/base/files.hpp>
#include <tally/base/format.hpp>

#include "leaderboard_text.hpp"

namespace tally::watch {
namespace {

// The metric as if more were better, so that comparisons need not know the mode: for Mode::min all
// numbers are negated.
struct Score {
  double value;
  std::optional<double> end;  // of its interval, on the better side
};

std::optional<double> mirrored(std::optional<double> number, Mode mode) {
  if (!number || !std::isfinite(*number)) return std::nullopt;
  return mode == Mode::max ? *number : -*number;
}

std::optional<Score> score_of(const Entry& entry, const StopSettings& settings) {
  const Estimate* metric = metric_of(entry, settings.monitor);
  if (!metric) return std::nullopt;
  const auto value = mirrored(metric->value, settings.mode);
  if (!value) return std::nullopt;
  const auto& end = settings.mode == Mode::max ? metric->high : metric->low;
  return Score{*value, mirrored(end, settings.mode)};
}

bool is_gain(const Score& score, const Score& reference, const StopSettings& settings) {
  const bool is_beyond = !settings.significant || !reference.end || score.value > *reference.end;
  return score.value > reference.value + settings.min_delta && is_beyond;
}

std::string reason_of(const std::optional<Score>& reference, std::int64_t without_gain,
                      const StopSettings& settings) {
  const std::string in_checkpoints =
      format("in {} checkpoint{}", without_gain, without_gain == 1 ? "" : "s");
  if (!reference) return format("{} is undefined {}", settings.monitor, in_checkpoints);
  std::string than = settings.significant && reference->end ? "its interval" : "";
  if (settings.min_delta > 0) {
    than += format("{}{}", than.empty() ? "" : " and than ", settings.min_delta);
  }
  const std::string_view gained = settings.mode == Mode::max ? "gained" : "fallen";
  return format("{} has not {}{} {}", settings.monitor, gained,
                than.empty() ? "" : " more than " + than, in_checkpoints);
}

}  // namespace

std::string_view name(Mode mode) { return mode == Mode::max ? "max" : "min"; }

Verdict judge(std::span<const Entry> entries, const StopSettings& settings) {
  Verdict verdict;
  // `best` has the largest value, `reference` is the last gain. They differ where a checkpoint is
  // better, but by too little to be a gain.
  std::optional<Score> best, reference;
  for (const Entry& entry : entries) {
    if (entry.status != Status::evaluated) continue;
    verdict.last = &entry;
    ++verdict.num_evaluated;
    ++verdict.without_gain;
    const auto score = score_of(entry, settings);
    if (!score) continue;
    if (!best || score->value > best->value) {
      best = score;
      verdict.best = &entry;
    }
    if (!reference || is_gain(*score, *reference, settings)) {
      reference = score;
      verdict.without_gain = 0;
    }
  }
  verdict.stop = settings.patience > 0 && verdict.without_gain >= settings.patience;
  if (verdict.stop) verdict.reason = reason_of(reference, verdict.without_gain, settings);
  return verdict;
}

void write_stop_file(const std::filesystem::path& path, const Verdict& verdict,
                     const StopSettings& settings, std::string_view time) {
  // Trainers read the file at any time and must see all of it or none.
  write_file_atomically(path, stop_text(verdict, settings, time));
}

}  // namespace tally::watch
