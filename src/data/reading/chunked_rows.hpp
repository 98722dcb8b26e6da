// SPDX-License-Identifier: Apache-2.0
// Rows of a chunked dataset, its chunks decoded here, by several threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include <tally/hdf5/reader.hpp>
#include <tally/plan/batch_grid.hpp>

#include "reading/block_cache.hpp"
#include "reading/chunk_decoder.hpp"
#include "reading/staged_file.hpp"

namespace tally::data {

class ChunkedRows {
 public:
  // Of a dataset that ChunkDecoder knows; messages name `file`. The dataset must live as long.
  ChunkedRows(std::filesystem::path file, const hdf5::Dataset& dataset);

  // Rows [first, first + count), which are there, to all of `out`. Throws Error(dataset).
  void read(std::int64_t first, std::int64_t count, std::span<std::byte> out);

  // Length of the stored chunks that hold `rows`; and these, read from `copy` from now on.
  std::int64_t staged_bytes(plan::SampleRange rows) const;
  void stage(const std::shared_ptr<StagedFile>& copy, plan::SampleRange rows);

  // `threads` threads are going to read `rows` in order; before they begin.
  void expect(plan::SampleRange rows, int threads);
  // Keeps no chunk for later.
  void forget() { cache_.clear(); }

 private:
  struct StoredChunk {
    std::int64_t position;  // in the copy
    std::size_t bytes;
    std::uint32_t left_out;  // filters
  };

  const hdf5::DatasetInfo& info() const { return dataset_.info(); }
  plan::SampleRange chunks_of(plan::SampleRange rows) const;
  std::uint32_t read_stored(std::int64_t chunk, std::vector<std::byte>& bytes) const;
  void decode(std::int64_t chunk, std::span<std::byte> out) const;
  BlockCache::Block decoded(std::int64_t chunk) const;
  void decode_ahead(std::int64_t chunk);
  void copy_rows(const std::byte* chunk, std::int64_t tile, std::int64_t first, std::int64_t count,
                 std::byte* out) const;

  std::filesystem::path file_;
  const hdf5::Dataset& dataset_;
  ChunkDecoder decoder_;
  std::int64_t rows_per_chunk_;
  std::int64_t num_tiles_;  // chunks that share a row
  std::int64_t chunk_bytes_;
  std::int64_t ahead_ = 0;       // chunks that may be decoded before they are asked for
  std::int64_t wanted_end_ = 0;  // no row from here on is
  BlockCache cache_;
  std::shared_ptr<StagedFile> copy_;
  std::int64_t first_copied_ = 0;
  std::vector<StoredChunk> copied_;  // chunks from the first one on
};

}  // namespace tally::data
