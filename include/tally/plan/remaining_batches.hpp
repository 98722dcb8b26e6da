// SPDX-License-Identifier: Apache-2.0
// Decides which rank does what of a run that is resumed: ranks get contiguous slices again, cut so
// that each evaluates equally many of the batches that are missing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <tally/plan/batch_grid.hpp>

namespace tally::plan {

// Batches that an earlier run has evaluated, and where their results are: a number of the caller's.
struct DoneBatches {
  BatchRange batches;
  std::int64_t part = 0;
};

// Consecutive batches of a slice that are all to be evaluated, or all in one part.
struct Segment {
  BatchRange batches;
  std::optional<std::int64_t> part;  // none: to be evaluated
};

// Whether these are batches of the grid, at least one, that make whole blocks.
bool are_whole_blocks(const BatchGrid& grid, BatchRange batches);

// Of a whole grid. `done` is made of whole blocks, and no batch is in it twice; Error(internal)
// otherwise. A run without progress has nothing done, and the slices are those of the grid.
class RemainingBatches {
 public:
  RemainingBatches(const BatchGrid& grid, std::vector<DoneBatches> done);

  std::int64_t num_done_samples() const;
  // Contiguous slices in the order of ranks, which together are the grid. The first ranks have one
  // more missing block where these are not equally many.
  BatchRange slice_of(int rank, int world_size) const;
  // The segments of a slice, in order. None is empty.
  std::vector<Segment> segments_of(BatchRange slice) const;

 private:
  std::int64_t num_missing_blocks() const;
  std::int64_t batch_of_missing_block(std::int64_t number) const;

  BatchGrid grid_;
  std::vector<DoneBatches> done_;  // ascending
};

}  // namespace tally::plan
