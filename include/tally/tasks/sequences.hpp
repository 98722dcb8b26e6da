// What is kept of a sequence at some places of which a language model's tokens are scored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <tally/metrics/token_record.hpp>
#include <tally/predictions/columns.hpp>

namespace tally::tasks {

// A record of the loop. Plain data.
struct SequenceRecord {
  std::int64_t index = 0;  // global, of the sample
  std::int64_t unit = 0;
  std::int64_t choice = 0;   // of multiple choice: which one it is
  std::int64_t tokens = 0;   // that are scored
  std::int64_t right = 0;    // of them the most likely ones
  std::int64_t in_top5 = 0;  // of them among the five most likely ones
  double loss = 0;           // sum of -log(probability): exact, rounded once; NaN if not finite
  std::int64_t finite = 1;   // 0: the scores of a token hold NaN or Inf
};

// Adds up the places of a sequence that are scored.
void add_up(std::span<const metrics::TokenRecord> places, SequenceRecord& record);

// One row a sample, of one column.
predictions::ColumnSpec sequence_column();
void append_record(const SequenceRecord& record, std::vector<std::byte>& column);
std::span<const SequenceRecord> sequences_in(std::span<const std::byte> column);

}  // namespace tally::tasks
