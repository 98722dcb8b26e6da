// SPDX-License-Identifier: Apache-2.0
#include "reading/chunked_rows.hpp"

#include <algorithm>
#include <cstring>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>

#include "dataset_error.hpp"

namespace tally::data {
namespace {

// Decoded chunks of one column take no more memory than this, but for a single chunk that is
// larger.
constexpr std::int64_t kMostCachedBytes = 256 << 20;

// Copies a box of elements from one row-major array to another.
struct BoxCopy {
  const Shape& box;   // elements to be copied
  const Shape& from;  // shape of the array they are in
  const Shape& to;    // shape of the array they go to, whose first dimension does not matter
  std::size_t element_bytes;

  // Returns the bytes between neighbours along a dimension.
  static std::size_t stride(const Shape& shape, std::size_t dimension, std::size_t bytes) {
    for (std::size_t d = dimension + 1; d < shape.size(); ++d) bytes *= to_size(shape[d]);
    return bytes;
  }

  void run(const std::byte* source, std::byte* target, std::size_t dimension = 0) const {
    const std::size_t from_stride = stride(from, dimension, element_bytes);
    const std::size_t to_stride = stride(to, dimension, element_bytes);
    // Where box and both arrays agree in all later dimensions, what remains is contiguous in both.
    if (from_stride == to_stride && to_stride == stride(box, dimension, element_bytes)) {
      std::memcpy(target, source, to_size(box[dimension]) * to_stride);
      return;
    }
    for (std::int64_t i = 0; i < box[dimension]; ++i) {
      run(source + to_size(i) * from_stride, target + to_size(i) * to_stride, dimension + 1);
    }
  }
};

std::int64_t num_tiles(const hdf5::DatasetInfo& info) {
  const Shape grid = info.chunk_grid();
  return num_elements(std::span(grid).subspan(1));
}

}  // namespace

ChunkedRows::ChunkedRows(std::filesystem::path file, const hdf5::Dataset& dataset)
    : file_(std::move(file)),
      dataset_(dataset),
      decoder_(info()),
      rows_per_chunk_(info().chunk_shape.front()),
      num_tiles_(num_tiles(info())),
      chunk_bytes_(num_elements(info().chunk_shape) * hdf5::size_bytes(info().element)) {
  // Until expect() is called there is one thread, and nothing is decoded ahead.
  expect({0, 0}, 1);
}

void ChunkedRows::expect(plan::SampleRange rows, int threads) {
  // Each thread reads rows of some chunks, those that share the rows, and the next ones are needed
  // by the thread that is first through. What is decoded ahead must fit beside the chunks in use.
  const std::int64_t wanted = (threads + 1) * num_tiles_;
  const std::int64_t kept = std::clamp<std::int64_t>(kMostCachedBytes / chunk_bytes_, 1, wanted);
  cache_.set_capacity(to_size(kept));
  ahead_ = std::clamp<std::int64_t>(kept - num_tiles_, 0, threads - 1);
  wanted_end_ = rows.end();
}

void ChunkedRows::read(std::int64_t first, std::int64_t count, std::span<std::byte> out) {
  const bool is_whole_rows =
      std::ranges::equal(info().row_shape(), std::span(info().chunk_shape).subspan(1));
  const std::int64_t end = first + count;
  for (std::int64_t row = first; row < end;) {
    const std::int64_t across = row / rows_per_chunk_;
    const std::int64_t behind = std::min(end, (across + 1) * rows_per_chunk_);
    const auto part = out.subspan(to_size((row - first) * info().row_bytes()),
                                  to_size((behind - row) * info().row_bytes()));
    // Chunks at the end of the dataset are stored at full size, so they do not fit their place, and
    // go through the cache as chunks do whose rows several batches share.
    if (is_whole_rows && behind - row == rows_per_chunk_) {
      decode(across, part);
    } else {
      for (std::int64_t tile = 0; tile < num_tiles_; ++tile) {
        const std::int64_t chunk = across * num_tiles_ + tile;
        const auto block = cache_.get(
            chunk, [&] { return decoded(chunk); },
            [&] {
              // Several threads need one chunk mainly where it holds more rows than a batch.
              if (rows_per_chunk_ > count) decode_ahead(chunk);
            });
        copy_rows(block.get(), tile, row - across * rows_per_chunk_, behind - row, part.data());
      }
    }
    row = behind;
  }
}

plan::SampleRange ChunkedRows::chunks_of(plan::SampleRange rows) const {
  if (rows.count == 0) return {0, 0};
  const std::int64_t first = rows.first / rows_per_chunk_;
  const std::int64_t last = (rows.end() - 1) / rows_per_chunk_;
  return {first * num_tiles_, (last - first + 1) * num_tiles_};
}

std::int64_t ChunkedRows::staged_bytes(plan::SampleRange rows) const {
  const plan::SampleRange chunks = chunks_of(rows);
  std::int64_t bytes = 0;
  for (std::int64_t chunk = chunks.first; chunk < chunks.end(); ++chunk) {
    bytes += dataset_.raw_chunk_bytes(chunk);
  }
  return bytes;
}

void ChunkedRows::stage(const std::shared_ptr<StagedFile>& copy, plan::SampleRange rows) {
  const plan::SampleRange chunks = chunks_of(rows);
  std::vector<StoredChunk> copied;
  std::vector<std::byte> stored;
  for (std::int64_t chunk = chunks.first; chunk < chunks.end(); ++chunk) {
    const std::uint32_t left_out = dataset_.read_raw_chunk(chunk, stored);
    copied.push_back({copy->append(stored), stored.size(), left_out});
  }
  // The copy is used only once it is whole.
  copy_ = copy;
  first_copied_ = chunks.first;
  copied_ = std::move(copied);
}

// Reads the chunk from the copy where that has it, else from the file.
std::uint32_t ChunkedRows::read_stored(std::int64_t chunk, std::vector<std::byte>& bytes) const {
  if (chunk < first_copied_ || chunk - first_copied_ >= std::ssize(copied_)) {
    return dataset_.read_raw_chunk(chunk, bytes);
  }
  const StoredChunk& stored = copied_[to_size(chunk - first_copied_)];
  bytes.resize(stored.bytes);
  copy_->read(stored.position, bytes);
  return stored.left_out;
}

void ChunkedRows::decode(std::int64_t chunk, std::span<std::byte> out) const {
  thread_local std::vector<std::byte> stored;
  const std::uint32_t left_out = read_stored(chunk, stored);
  const std::string problem = decoder_.decode(stored, left_out, out);
  if (problem.empty()) return;
  throw_dataset_error(file_, info().path, format("chunk {} {} (read)", chunk, problem),
                      "The file is damaged: copy or prepare it again.");
}

BlockCache::Block ChunkedRows::decoded(std::int64_t chunk) const {
  auto block = std::make_shared_for_overwrite<std::byte[]>(to_size(chunk_bytes_));
  decode(chunk, {block.get(), to_size(chunk_bytes_)});
  return block;
}

// Decodes the chunks behind `chunk`, which another thread decodes meanwhile: the batches that
// follow need them.
void ChunkedRows::decode_ahead(std::int64_t chunk) {
  for (std::int64_t next = chunk + 1; next <= chunk + ahead_; ++next) {
    if (next / num_tiles_ * rows_per_chunk_ >= wanted_end_) return;
    cache_.prepare(next, [&] { return decoded(next); });
  }
}

// Copies rows [first, first + count) of a chunk to the same rows of the dataset; `out` holds these
// rows and no others.
void ChunkedRows::copy_rows(const std::byte* chunk, std::int64_t tile, std::int64_t first,
                            std::int64_t count, std::byte* out) const {
  const Shape grid = info().chunk_grid();
  const Shape &shape = info().shape, &chunk_shape = info().chunk_shape;
  const std::size_t element_bytes = to_size(hdf5::size_bytes(info().element));
  Shape box(shape.size());
  std::size_t place = 0, stride = element_bytes;  // of the tile's corner in a row
  for (std::size_t d = shape.size() - 1; d > 0; tile /= grid[d], --d) {
    // Tiles are numbered row-major. One at the edge reaches beyond the dataset, where nothing is
    // copied.
    const std::int64_t corner = tile % grid[d] * chunk_shape[d];
    box[d] = std::min(chunk_shape[d], shape[d] - corner);
    place += to_size(corner) * stride;
    stride *= to_size(shape[d]);
  }
  box[0] = count;
  const std::size_t chunk_row_bytes = to_size(chunk_bytes_ / rows_per_chunk_);
  BoxCopy{box, chunk_shape, shape, element_bytes}.run(chunk + to_size(first) * chunk_row_bytes,
                                                      out + place);
}

}  // namespace tally::data
