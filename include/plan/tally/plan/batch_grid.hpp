// Who evaluates what: a global grid of batches, cut into one contiguous slice for each rank.
//
// Batch k holds samples [k*B, (k+1)*B) whatever the number of ranks, so that the model sees the
// same batches on 1 and on 64 ranks and its outputs are the same bits.
#pragma once

#include <cstdint>
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
  // num_samples >= 0, batch_size >= 1; else Error(internal).
  BatchGrid(std::int64_t num_samples, std::int64_t batch_size);

  std::int64_t num_samples() const { return num_samples_; }
  std::int64_t batch_size() const { return batch_size_; }
  std::int64_t num_batches() const;
  // The real samples of batch k; fewer than batch_size() only in the last batch.
  SampleRange samples_of(std::int64_t batch) const;
  SampleRange samples_of(BatchRange batches) const;
  // Whole batches for `rank`: the first num_batches % world_size ranks have one more. May be empty.
  BatchRange slice_of(int rank, int world_size) const;
  // mean / max batches per rank, in (0, 1]; 1 when there is nothing to do.
  double balance(int world_size) const;

 private:
  std::int64_t num_samples_;
  std::int64_t batch_size_;
};

// The largest batch size below `grid`'s whose balance, in samples, reaches `target`; none if there
// is none.
std::optional<std::int64_t> better_batch_size(const BatchGrid& grid, int world_size, double target);

}  // namespace tally::plan
