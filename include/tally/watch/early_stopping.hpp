// SPDX-License-Identifier: Apache-2.0
// Decides which checkpoint is the best, and whether training should go on. All of it is a pure
// function of the leaderboard, so that a restart decides as if nothing had happened.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include <tally/watch/leaderboard.hpp>

namespace tally::watch {

enum class Mode { max, min };
std::string_view name(Mode mode);  // "max", "min"

// A checkpoint counts as a gain where it is better by more than `min_delta` than the last one that
// counted, and with `significant` beyond that one's interval, too, where it has one.
struct StopSettings {
  std::string monitor;  // the metric
  Mode mode = Mode::max;
  std::int64_t patience = 0;  // evaluated checkpoints in a row without a gain; 0: never stop
  double min_delta = 0;
  bool significant = true;
};

// As of the last entry. The pointers are into the entries; null where there is no such entry.
struct Verdict {
  const Entry* best = nullptr;  // of equal values the first
  const Entry* last = nullptr;  // evaluated, with or without a value
  std::int64_t num_evaluated = 0;
  std::int64_t without_gain = 0;  // evaluated checkpoints since the last gain
  bool stop = false;
  std::string reason;  // one line; empty unless `stop`
};

// Checkpoints that are broken count as nothing; one whose metric is undefined is evaluated and no
// gain. The first that has a value is a gain.
Verdict judge(std::span<const Entry> entries, const StopSettings& settings);

// The file that trainers look for. Throws Error(output).
void write_stop_file(const std::filesystem::path& path, const Verdict& verdict,
                     const StopSettings& settings, std::string_view time);

}  // namespace tally::watch
