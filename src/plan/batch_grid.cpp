// SPDX-License-Identifier: Apache-2.0
#include <tally/plan/batch_grid.hpp>

#include <algorithm>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally::plan {
namespace {

// What is refused here is a defect of the caller, not of the input.
void require(bool holds, std::string_view what) {
  if (!holds) throw Error(ErrorKind::internal, what);
}

}  // namespace

BatchGrid::BatchGrid(std::int64_t num_samples, std::int64_t batch_size,
                     std::int64_t batches_per_block)
    : num_samples_(num_samples), batch_size_(batch_size), batches_per_block_(batches_per_block) {
  require(num_samples >= 0 && batch_size >= 1 && batches_per_block >= 1,
          format("a batch grid of {} samples, batches of {} and blocks of {}, expected at least 0, "
                 "1 and 1",
                 num_samples, batch_size, batches_per_block));
}

std::int64_t BatchGrid::num_batches() const {
  // Adding batch_size - 1 before the division could overflow: a batch size may be any int64.
  return num_samples_ / batch_size_ + (num_samples_ % batch_size_ != 0 ? 1 : 0);
}

std::int64_t BatchGrid::num_blocks() const {
  return num_batches() / batches_per_block_ + (num_batches() % batches_per_block_ != 0 ? 1 : 0);
}

SampleRange BatchGrid::samples_of(std::int64_t batch) const {
  return samples_of(BatchRange{batch, 1});
}

SampleRange BatchGrid::samples_of(BatchRange batches) const {
  const std::int64_t total = num_batches();
  require(batches.first >= 0 && batches.count >= 0 && batches.first <= total &&
              batches.count <= total - batches.first,
          format("batches {} + {} asked of a grid of {}", batches.first, batches.count, total));
  // The end of the last batch is the end of the set, and k * batch_size() could overflow there.
  const auto start_of = [&](std::int64_t k) { return k == total ? num_samples_ : k * batch_size_; };
  const std::int64_t first = start_of(batches.first);
  return {first, start_of(batches.end()) - first};
}

BatchRange BatchGrid::slice_of(int rank, int world_size) const {
  require(world_size >= 1 && rank >= 0 && rank < world_size,
          format("a slice asked for rank {} of {}", rank, world_size));
  // Slices are contiguous and in order of rank, so that each rank reads one range of the file, and
  // records of rank r + 1 follow those of rank r. Every rank computes this alone and gets the same.
  const std::int64_t base = num_blocks() / world_size;
  const std::int64_t longer = num_blocks() % world_size;
  const std::int64_t first = rank * base + std::min<std::int64_t>(rank, longer);
  const std::int64_t end = first + base + (rank < longer ? 1 : 0);
  const auto start_of = [&](std::int64_t block) {
    return block == num_blocks() ? num_batches() : block * batches_per_block_;
  };
  return {start_of(first), start_of(end) - start_of(first)};
}

std::int64_t BatchGrid::even_share(int world_size) const {
  return num_samples_ / world_size + (num_samples_ % world_size != 0 ? 1 : 0);
}

std::int64_t BatchGrid::most_computed(int world_size) const {
  return slice_of(0, world_size).count * batch_size_;
}

double BatchGrid::balance(int world_size) const {
  const std::int64_t most = most_computed(world_size);
  if (most == 0) return 1.0;
  // Batches are filled up to the full size, and what is computed counts (docs/decisions/023). In
  // int64 the product could overflow.
  return static_cast<double>(num_samples_) /
         (static_cast<double>(most) * static_cast<double>(world_size));
}

std::optional<std::int64_t> better_batch_size(const BatchGrid& grid, int world_size,
                                              const std::function<bool(std::int64_t)>& suits) {
  // Another size is worth its note only where it saves a twentieth.
  const auto is_worse = [](std::int64_t most, std::int64_t other) {
    return static_cast<double>(other) < 0.95 * static_cast<double>(most);
  };
  const std::int64_t share = grid.even_share(world_size);
  std::int64_t most = grid.most_computed(world_size);
  std::optional<std::int64_t> better;
  // The smallest size by which a rank has no more than `count` batches wastes least.
  for (std::int64_t count = 1; count <= share && is_worse(most, share); ++count) {
    std::int64_t size = (share - 1) / count + 1;
    while (size < grid.batch_size() && !suits(size)) ++size;
    if (size >= grid.batch_size() || !is_worse(most, count * size)) continue;
    better = size;
    most = count * size;
  }
  return better;
}

}  // namespace tally::plan
