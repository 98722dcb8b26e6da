// SPDX-License-Identifier: Apache-2.0
#include <tally/data/length_buckets.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>

#include <tally/base/checked_cast.hpp>

#include "reading/batch_buffer_layout.hpp"

namespace tally::data {
namespace {

std::span<const std::int32_t> lengths_of(const Batch& block) {
  return {block.lengths.value().as<const std::int32_t>(), to_size(block.samples.count)};
}

// Copies the first `row_bytes` of each of `rows` of a block, one behind the other. Zeros fill the
// batch up, because the slot may hold an older one.
void gather_rows(const TensorView& block, std::span<const std::int64_t> rows,
                 std::int64_t row_bytes, std::span<std::byte> out) {
  const std::int64_t stride = block.strides.front() * size_bytes(block.dtype);
  std::byte* to = out.data();
  for (const std::int64_t row : rows) {
    std::memcpy(to, block.as<const std::byte>() + row * stride, to_size(row_bytes));
    to += row_bytes;
  }
  std::fill(to, out.data() + out.size(), std::byte{0});
}

// Makes the tensor of a batch in its slot. Sequences are cut to `length`: they lie along the first
// dimension of a row, so what remains are the first bytes of the row.
TensorView gathered(const TensorView& block, const SlotField& field, std::int64_t length,
                    std::span<const std::int64_t> rows, std::int64_t batch_size,
                    std::span<std::byte> slot) {
  Shape shape = shape_of_rows(batch_size, field.column->row_shape);
  if (field.column->padding) shape[1] = length;
  auto view = contiguous_view(slot.data() + field.offset, block.dtype, std::move(shape));
  const std::int64_t row_bytes = num_elements(view.shape) / batch_size * size_bytes(block.dtype);
  gather_rows(block, rows, row_bytes,
              slot.subspan(to_size(field.offset), to_size(batch_size * row_bytes)));
  return view;
}

// Up to the next multiple, but not beyond what is stored.
std::int64_t length_of_batch(std::int64_t longest, const DataSetInfo& info) {
  const std::int64_t rounded = (longest + kLengthMultiple - 1) / kLengthMultiple * kLengthMultiple;
  return std::min(rounded, info.columns.lengths->range->most);
}

}  // namespace

std::int64_t typical_length(DataSet& set, std::int64_t num_samples) {
  constexpr std::int64_t kMostSamples = 4096;
  const DataSetInfo& info = set.info();
  std::vector<std::int32_t> lengths(to_size(std::min(num_samples, kMostSamples)));
  set.read_rows(*info.columns.lengths, 0, std::ssize(lengths),
                std::as_writable_bytes(std::span(lengths)));
  // Of an even number of samples the longer one of the middle: where half have the most, it is
  // that.
  const auto middle = lengths.begin() + std::ssize(lengths) / 2;
  std::ranges::nth_element(lengths, middle);
  return length_of_batch(*middle, info);
}

LengthBuckets::LengthBuckets(BatchReader& blocks, const DataSetInfo& info, std::int64_t batch_size,
                             std::int64_t batches_per_block,
                             std::vector<std::span<std::byte>> slots)
    : blocks_(blocks),
      info_(info),
      batch_size_(batch_size),
      batches_per_block_(batches_per_block),
      slots_(std::move(slots)),
      batches_(slots_.size()) {}

void LengthBuckets::open(const Batch& block) {
  block_ = &block;
  num_taken_ = 0;
  by_length_.resize(to_size(block.samples.count));
  std::iota(by_length_.begin(), by_length_.end(), 0);
  const auto lengths = lengths_of(block);
  // A stable sort keeps equal lengths in order of index, so that the batches, and by them the bits
  // of the model's outputs, are the same on any number of ranks.
  std::ranges::stable_sort(by_length_, {}, [&](std::int64_t row) { return lengths[to_size(row)]; });
}

const Batch* LengthBuckets::next() {
  if (block_ == nullptr || num_taken_ == block_->samples.count) {
    // This gives the block before back to its reader: its rows were copied into slots of batches.
    const Batch* block = blocks_.next();
    if (block == nullptr) return nullptr;
    open(*block);
  }
  const std::size_t slot = num_given_++ % slots_.size();
  fill(batches_[slot], slots_[slot]);
  num_taken_ += batches_[slot].samples.count;
  batches_[slot].ends_block = num_taken_ == block_->samples.count;
  return &batches_[slot];
}

void LengthBuckets::fill(Batch& batch, std::span<std::byte> slot) const {
  const std::int64_t count = std::min(batch_size_, block_->samples.count - num_taken_);
  const auto rows = std::span(by_length_).subspan(to_size(num_taken_), to_size(count));
  // Rows are sorted, so the last one is the longest.
  const std::int64_t length = length_of_batch(lengths_of(*block_)[to_size(rows.back())], info_);

  // Batches have the numbers that they have in the grid of batches, of which a block is several.
  batch.index = block_->index * batches_per_block_ + num_taken_ / batch_size_;
  batch.samples = {block_->samples.first, count};
  batch.indices.assign(rows.begin(), rows.end());
  for (std::int64_t& index : batch.indices) index += block_->samples.first;
  const BatchBufferLayout layout = make_batch_buffer_layout(info_, batch_size_);
  const auto gather = [&](const auto& fields, const auto& from, auto& to) {
    to.clear();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      to.push_back(gathered(from[i], fields[i], length, rows, batch_size_, slot));
    }
  };
  gather(layout.inputs, block_->inputs, batch.inputs);
  gather(layout.targets, block_->targets, batch.targets);
  batch.memory = slot.first(to_size(layout.bytes));
}

}  // namespace tally::data
