// SPDX-License-Identifier: Apache-2.0
// Defines the record of a sequence whose tokens a language model scores: sums over its places.
// Units, such as documents, are made of these records after the loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tally/metrics/sample_records.hpp>
#include <tally/predictions/record_batch.hpp>

namespace tally::tasks {

// What the loop retains of a sequence at some places of which a language model scores tokens. Plain
// data.
struct SequenceRecord {
  std::int64_t index = 0;  // global, of the sample
  std::int64_t unit = 0;
  std::int64_t position = 0;  // among the sequences of its unit, where the data set says it
  std::int64_t tokens = 0;    // that are scored
  std::int64_t right = 0;     // of them the most likely ones
  std::int64_t in_top5 = 0;   // of them among the five most likely ones
  double loss = 0;            // sum of -log(probability): exact, rounded once; NaN if not finite
  std::int64_t finite = 1;    // 0: the scores of a token hold NaN or Inf
};

// Adds up the places of a sequence that are scored.
void add_up(std::span<const metrics::TokenRecord> places, SequenceRecord& record);

// One row a sample, of one column.
predictions::ColumnSpec sequence_column();
void append_record(const SequenceRecord& record, std::vector<std::byte>& column);
std::span<const SequenceRecord> sequences_in(std::span<const std::byte> column);

}  // namespace tally::tasks
