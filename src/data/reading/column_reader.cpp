// SPDX-License-Identifier: Apache-2.0
#include "reading/column_reader.hpp"

#include <algorithm>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/digest/sha256_and_checksums.hpp>

#include "dataset_error.hpp"

namespace tally::data {
namespace {

// So much is read at a time before its checksums are computed: little enough to be in the cache
// still.
constexpr std::int64_t kPieceBytes = 256 << 10;
// So much is read at a time to be staged: parallel file systems are fast with large requests.
constexpr std::int64_t kStagedPieceBytes = 8 << 20;

}  // namespace

ColumnReader::ColumnReader(std::filesystem::path file, hdf5::Dataset dataset, ChecksumTable table)
    : file_(std::move(file)),
      dataset_(std::move(dataset)),
      table_(std::move(table)),
      row_bytes_(dataset_.info().row_bytes()) {
  const hdf5::DatasetInfo& info = dataset_.info();
  if (!info.filters.empty() && ChunkDecoder::knows(info)) chunks_.emplace(file_, dataset_);
}

void ColumnReader::expect(plan::SampleRange rows, int threads) {
  edges_.set_capacity(to_size(threads) + 1);
  if (chunks_) chunks_->expect(rows, threads);
}

void ColumnReader::forget() {
  edges_.clear();
  if (chunks_) chunks_->forget();
}

void ColumnReader::read(std::int64_t first, std::int64_t count, std::span<std::byte> out) {
  if (first < 0 || count < 0 || first > num_rows() - count ||
      out.size() < to_size(count * row_bytes_)) {
    throw Error(ErrorKind::internal, format("rows {} + {} of {} were asked for in {} bytes", first,
                                            count, dataset_.info().path, out.size()));
  }
  if (table_.rows_per_block == 0) return fetch(first, count, out);
  const std::int64_t end = first + count;
  for (std::int64_t row = first; row < end;) {
    const auto rest = out.subspan(to_size((row - first) * row_bytes_));
    // Whole blocks are read straight to their place. Of a block that the range cuts, all rows are
    // needed for its checksum, so it is read to a cache and its rows are copied.
    const bool at_block = row % table_.rows_per_block == 0;
    const bool whole = at_block && (end == num_rows() || end - row >= table_.rows_per_block);
    row = whole ? read_whole_blocks(row, end, rest) : copy_from_edge(row, end, rest);
  }
}

plan::SampleRange ColumnReader::with_whole_blocks(plan::SampleRange rows) const {
  if (table_.rows_per_block == 0 || rows.count == 0) return rows;
  const std::int64_t first = rows.first - rows.first % table_.rows_per_block;
  const std::int64_t end = num_blocks(rows.end(), table_.rows_per_block) * table_.rows_per_block;
  return {first, std::min(end, num_rows()) - first};
}

std::int64_t ColumnReader::staged_bytes(plan::SampleRange rows) const {
  const plan::SampleRange whole = with_whole_blocks(rows);
  return chunks_ ? chunks_->staged_bytes(whole) : whole.count * row_bytes_;
}

void ColumnReader::stage(const std::shared_ptr<StagedFile>& copy, plan::SampleRange rows) {
  const plan::SampleRange whole = with_whole_blocks(rows);
  if (chunks_) return chunks_->stage(copy, whole);
  const std::int64_t per_piece = std::max<std::int64_t>(1, kStagedPieceBytes / row_bytes_);
  std::vector<std::byte> piece;
  std::int64_t position = -1;
  for (std::int64_t row = whole.first; row < whole.end(); row += per_piece) {
    const std::int64_t count = std::min(per_piece, whole.end() - row);
    piece.resize(to_size(count * row_bytes_));
    dataset_.read_rows(row, count, piece);
    // Pieces lie one behind the other in the copy, because columns are staged in turn.
    const std::int64_t placed = copy->append(piece);
    if (position < 0) position = placed;
  }
  // The copy is used only once it is whole.
  copy_ = copy;
  copied_ = whole;
  position_ = position;
}

void ColumnReader::fetch(std::int64_t first, std::int64_t count, std::span<std::byte> out) {
  if (copy_ && first >= copied_.first && first + count <= copied_.end()) {
    copy_->read(position_ + (first - copied_.first) * row_bytes_,
                out.first(to_size(count * row_bytes_)));
  } else if (chunks_) {
    chunks_->read(first, count, out.first(to_size(count * row_bytes_)));
  } else {
    dataset_.read_rows(first, count, out);
  }
  bytes_read_ += count * row_bytes_;
}

// Reads as many whole blocks as one piece holds, and returns the row behind them. `first` begins a
// block that ends at or before `end`.
std::int64_t ColumnReader::read_whole_blocks(std::int64_t first, std::int64_t end,
                                             std::span<std::byte> out) {
  // A table may name blocks longer than the column; the minimum keeps the products below from
  // overflowing.
  const std::int64_t rows_per_block = std::min(table_.rows_per_block, num_rows());
  // Chunks that lie whole in a request are decoded straight to their place, so all blocks are
  // requested at once.
  const std::int64_t piece_bytes = chunks_ ? (end - first) * row_bytes_ : kPieceBytes;
  const std::int64_t per_piece =
      std::max<std::int64_t>(1, piece_bytes / (rows_per_block * row_bytes_));
  std::int64_t behind = std::min(end, first + per_piece * rows_per_block);
  // Only the last block of the column may be shorter than the others.
  if (behind < num_rows()) behind -= (behind - first) % rows_per_block;
  fetch(first, behind - first, out);
  for (std::int64_t row = first; row < behind; row += rows_per_block) {
    const std::int64_t rows = std::min(rows_per_block, behind - row);
    verify(row / table_.rows_per_block,
           out.subspan(to_size((row - first) * row_bytes_), to_size(rows * row_bytes_)));
  }
  return behind;
}

// Copies rows of the one block that holds `first`, and returns the row behind them.
std::int64_t ColumnReader::copy_from_edge(std::int64_t first, std::int64_t end,
                                          std::span<std::byte> out) {
  const std::int64_t block = first / table_.rows_per_block;
  const std::int64_t block_first = block * table_.rows_per_block;
  const std::int64_t block_rows = std::min(table_.rows_per_block, num_rows() - block_first);
  // The ranges of two batches mostly meet inside a block: the cache keeps it from being read twice.
  const auto whole = edges_.get(block, [&] {
    auto made = std::make_shared_for_overwrite<std::byte[]>(to_size(block_rows * row_bytes_));
    const std::span bytes(made.get(), to_size(block_rows * row_bytes_));
    fetch(block_first, block_rows, bytes);
    verify(block, bytes);
    return made;
  });
  const std::int64_t behind = std::min(end, block_first + block_rows);
  const std::span rows(whole.get() + (first - block_first) * row_bytes_,
                       to_size((behind - first) * row_bytes_));
  std::ranges::copy(rows, out.begin());
  return behind;
}

void ColumnReader::verify(std::int64_t block, std::span<const std::byte> bytes) const {
  const std::uint32_t found = digest::crc32c(bytes);
  const std::uint32_t expected = table_.crcs.at(to_size(block));
  if (found == expected) return;
  const std::int64_t first = block * table_.rows_per_block;
  const std::int64_t last = first + static_cast<std::int64_t>(bytes.size()) / row_bytes_ - 1;
  throw_dataset_error(file_, dataset_.info().path,
                      format("rows {}..{} have the CRC-32C {:08x}, expected {:08x} (read)", first,
                             last, found, expected),
                      "The file is damaged: copy or prepare it again.");
}

}  // namespace tally::data
