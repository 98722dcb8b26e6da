// SPDX-License-Identifier: Apache-2.0
#include <tally/plan/remaining_batches.hpp>

#include <algorithm>
#include <utility>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally::plan {
namespace {

void require_whole_blocks(const BatchGrid& grid, const std::vector<DoneBatches>& done) {
  std::int64_t end = 0;
  for (const auto& [batches, part] : done) {
    if (batches.first < end || !are_whole_blocks(grid, batches)) {
      throw Error(ErrorKind::internal,
                  format("batches {} + {} of part {} are done twice, or no whole blocks of {}",
                         batches.first, batches.count, part, grid.num_batches()));
    }
    end = batches.end();
  }
}

}  // namespace

bool are_whole_blocks(const BatchGrid& grid, BatchRange batches) {
  const auto is_border = [&](std::int64_t batch) {
    return batch % grid.batches_per_block() == 0 || batch == grid.num_batches();
  };
  return batches.first >= 0 && batches.count > 0 && batches.first <= grid.num_batches() &&
         batches.count <= grid.num_batches() - batches.first && is_border(batches.first) &&
         is_border(batches.end());
}

RemainingBatches::RemainingBatches(const BatchGrid& grid, std::vector<DoneBatches> done)
    : grid_(grid), done_(std::move(done)) {
  std::ranges::sort(done_, {}, [](const DoneBatches& one) { return one.batches.first; });
  require_whole_blocks(grid_, done_);
}

std::int64_t RemainingBatches::num_done_samples() const {
  std::int64_t samples = 0;
  for (const auto& one : done_) samples += grid_.samples_of(one.batches).count;
  return samples;
}

std::int64_t RemainingBatches::num_missing_blocks() const {
  const std::int64_t per_block = grid_.batches_per_block();
  std::int64_t blocks = grid_.num_blocks();
  for (const auto& one : done_) blocks -= (one.batches.count + per_block - 1) / per_block;
  return blocks;
}

// Behind the last one it is the end of the grid.
std::int64_t RemainingBatches::batch_of_missing_block(std::int64_t number) const {
  const std::int64_t per_block = grid_.batches_per_block();
  std::int64_t batch = 0;
  for (const auto& one : done_) {
    const std::int64_t before = (one.batches.first - batch) / per_block;
    if (number < before) break;
    number -= before;
    batch = one.batches.end();
  }
  // A product could overflow for a number that no block has.
  const std::int64_t left = (grid_.num_batches() - batch + per_block - 1) / per_block;
  return number < left ? batch + number * per_block : grid_.num_batches();
}

BatchRange RemainingBatches::slice_of(int rank, int world_size) const {
  const std::int64_t missing = num_missing_blocks();
  // Where nothing is missing the records of all samples are to be shared out alike.
  if (missing == 0) return grid_.slice_of(rank, world_size);
  const auto first_of = [&](std::int64_t of_rank) {
    if (of_rank == 0) return std::int64_t{0};
    if (of_rank == world_size) return grid_.num_batches();
    const std::int64_t base = missing / world_size;
    return batch_of_missing_block(of_rank * base + std::min(of_rank, missing % world_size));
  };
  const std::int64_t first = first_of(rank);
  return {first, first_of(rank + 1) - first};
}

std::vector<Segment> RemainingBatches::segments_of(BatchRange slice) const {
  std::vector<Segment> segments;
  std::int64_t next = slice.first;
  const auto add_up_to = [&](std::int64_t end, std::optional<std::int64_t> part) {
    if (end > next) segments.push_back({{next, end - next}, part});
    next = std::max(next, end);
  };
  for (const auto& [batches, part] : done_) {
    add_up_to(std::min(batches.first, slice.end()), std::nullopt);
    add_up_to(std::min(batches.end(), slice.end()), part);
  }
  add_up_to(slice.end(), std::nullopt);
  return segments;
}

}  // namespace tally::plan
