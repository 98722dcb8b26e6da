// SPDX-License-Identifier: Apache-2.0
// Reads a slice of the batch grid on threads of its own, ahead of its consumer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <tally/base/tensor_view.hpp>
#include <tally/data/data_set.hpp>
#include <tally/plan/batch_grid.hpp>

namespace tally::data {

// One batch of the grid in a slot's memory. Every tensor has batch_size rows; rows past
// samples.count are zero.
struct Batch {
  std::int64_t index = 0;  // k of the grid
  // Of a batch that is sorted by length: how many they are, and the first of their block.
  plan::SampleRange samples;
  std::vector<TensorView> inputs;   // as DataSetInfo::inputs
  std::vector<TensorView> targets;  // as DataSetInfo::targets
  std::span<std::byte> memory;      // the slot that holds all of them
  // int32 [batch_size], where the data set has them; not of sorted batches.
  std::optional<TensorView> lengths = std::nullopt;
  // Global index of each sample, where they do not follow one another: [samples.count].
  std::vector<std::int64_t> indices = {};
  // Whether every sample of later batches comes, in the data set's order, after all samples of this
  // batch and of those before it.
  bool ends_block = true;
};

// Bytes one slot needs, every tensor aligned to 64.
std::int64_t slot_bytes(const DataSetInfo& info, std::int64_t batch_size);

struct ReadAhead {
  int threads = 1;  // that read, a batch each; what is read does not depend on it
  int held = 1;     // batches the consumer has in hand at a time
};

class BatchReader {
 public:
  // Starts reading `slice` of `grid` into `slots` (more than are held, spans of slot_bytes each,
  // kept alive by the caller). The reader is the only user of `data_set` until it is destroyed.
  BatchReader(DataSet& data_set, const plan::BatchGrid& grid, plan::BatchRange slice,
              std::vector<std::span<std::byte>> slots, ReadAhead ahead = {});
  // Stops and joins the threads.
  ~BatchReader();

  // The next batch, or nullptr after the last; the batch returned `held` calls before is given
  // back. Batches come in order; in place of the first one that could not be read, and of all
  // behind it, what reading it threw is thrown.
  const Batch* next();

  // Seconds the threads spent reading, added up, and the consumer spent waiting in next().
  double read_s() const;
  double wait_s() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tally::data
