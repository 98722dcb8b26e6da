// SPDX-License-Identifier: Apache-2.0
// Records what became of every checkpoint: in leaderboard.jsonl, the record of truth, and in
// leaderboard.csv, made of it for tables. One process at a time writes to them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tally/base/files.hpp>
#include <tally/watch/checkpoint_version.hpp>

namespace tally::watch {

// None stands for undefined, as do NaN and the infinities, which JSON has no number for.
struct Estimate {
  std::optional<double> value;
  std::optional<double> low, high;  // of its interval
  std::string method;               // of the interval; empty without one
};

enum class Status { evaluated, broken };

struct Entry {
  Status status = Status::evaluated;
  Checkpoint checkpoint;
  std::string time;  // UTC, "2026-11-21T03:25:26Z"

  // Where it was evaluated:
  std::int64_t samples = 0;
  std::vector<std::pair<std::string, Estimate>> metrics;  // in the order of the report
  std::string state_digest;
  std::string weights_sha256;
  double seconds = 0;
  std::string result;  // folder below the output folder

  // Where it is broken: one line.
  std::string reason;
};

// None where it was not computed.
const Estimate* metric_of(const Entry& entry, std::string_view metric);

class Leaderboard {
 public:
  // Reads what is in the folder, or begins. A last line that a killed process left incomplete is
  // cut off, with a note; a table that differs from the record is written anew. Throws
  // Error(output) where the folder cannot be written, and for a line that is not of a leaderboard.
  explicit Leaderboard(const std::filesystem::path& folder);

  // In the order in which they were added.
  const std::vector<Entry>& entries() const { return entries_; }

  // On the disk when it returns. Throws Error(output); then no file ends in half a line.
  void append(const Entry& entry);

 private:
  void read();
  void bring_table_up_to_date();

  std::filesystem::path record_path_;
  std::filesystem::path table_path_;
  UniqueDescriptor record_;
  UniqueDescriptor table_;
  std::vector<Entry> entries_;
  std::vector<std::string> columns_;  // metrics of the table
};

}  // namespace tally::watch
