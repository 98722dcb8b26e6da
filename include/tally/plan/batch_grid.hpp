// SPDX-License-Identifier: Apache-2.0
// Decides which rank evaluates which samples: a global grid of batches is cut into one contiguous
// slice for each rank.
//
// Batch k holds samples [k*B, (k+1)*B) whatever the number of ranks, so that the model sees the
// same batches on 1 and on 64 ranks and its outputs are the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace tally::plan {

struct SampleRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t end() const { return first + count; }
};

struct BatchRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t end() const { return first + count; }
};

class BatchGrid {
 public:
  // num_samples >= 0, the others >= 1; else Error(internal). Where samples are put into another
  // order within blocks of batches, ranks take whole blocks.
  BatchGrid(std::int64_t num_samples, std::int64_t batch_size, std::int64_t batches_per_block = 1);

  std::int64_t num_samples() const { return num_samples_; }
  std::int64_t batch_size() const { return batch_size_; }
  std::int64_t batches_per_block() const { return batches_per_block_; }
  std::int64_t num_batches() const;
  std::int64_t num_blocks() const;
  // The real samples of batch k; fewer than batch_size() only in the last batch.
  SampleRange samples_of(std::int64_t batch) const;
  SampleRange samples_of(BatchRange batches) const;
  // Whole blocks for `rank`: the first num_blocks % world_size ranks have one more. May be empty.
  BatchRange slice_of(int rank, int world_size) const;
  // The samples that a rank has to compute where all have equally many, and those that rank 0,
  // which has most, computes: batches are filled up to the full size.
  std::int64_t even_share(int world_size) const;
  std::int64_t most_computed(int world_size) const;
  // Mean samples per rank / most_computed(), in (0, 1]; 1 when there is nothing to do.
  double balance(int world_size) const;

 private:
  std::int64_t num_samples_;
  std::int64_t batch_size_;
  std::int64_t batches_per_block_;
};

// A batch size below `grid`'s by which rank 0 computes fewer samples. For one batch per rank, for
// two, and so on, the smallest size that `suits` accepts is tried; it is taken if rank 0 then
// computes at least a twentieth less than by the best so far. None if no size does.
std::optional<std::int64_t> better_batch_size(const BatchGrid& grid, int world_size,
                                              const std::function<bool(std::int64_t)>& suits);

}  // namespace tally::plan
