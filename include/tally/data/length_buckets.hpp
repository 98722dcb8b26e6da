// SPDX-License-Identifier: Apache-2.0
// Makes batches of sequences of about the same length, so that hardly any padding is computed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tally/data/batch_reader.hpp>
#include <tally/data/data_set.hpp>

namespace tally::data {

// Sequences of a batch are cut to the longest of them, rounded up to a multiple of this: kernels
// are made for such sizes.
inline constexpr std::int64_t kLengthMultiple = 8;

// The length that a model is made ready for where batches have many. Where at least half of the
// first samples (`num_samples`, at most 4096) have the most that the column allows, it is that;
// else the median of their lengths, rounded up as those of batches are. The data set has lengths,
// of which these are read. Throws what reading throws.
std::int64_t typical_length(DataSet& set, std::int64_t num_samples);

// Takes blocks of samples, sorts each by length (ties: by index) and hands them out in batches, the
// shortest first. What a batch holds depends on data set, batch size and block alone. Blocks are
// the batches of a reader of its own grid.
class LengthBuckets {
 public:
  // `blocks` reads batches of batches_per_block * batch_size samples of a data set with lengths and
  // holds one at a time; it and `info` outlive this. `slots`: one for each batch that the consumer
  // has in hand at a time, of slot_bytes(info, batch_size).
  LengthBuckets(BatchReader& blocks, const DataSetInfo& info, std::int64_t batch_size,
                std::int64_t batches_per_block, std::vector<std::span<std::byte>> slots);

  // The next batch, or nullptr after the last; valid until as many further calls as there are
  // slots. Throws what reading throws.
  const Batch* next();

 private:
  void open(const Batch& block);
  void fill(Batch& batch, std::span<std::byte> slot) const;

  BatchReader& blocks_;
  const DataSetInfo& info_;
  std::int64_t batch_size_;
  std::int64_t batches_per_block_;
  std::vector<std::span<std::byte>> slots_;
  std::vector<Batch> batches_;           // one per slot
  const Batch* block_ = nullptr;         // in hand
  std::vector<std::int64_t> by_length_;  // its rows
  std::int64_t num_taken_ = 0;           // of them
  std::size_t num_given_ = 0;            // batches, of all blocks
};

}  // namespace tally::data
