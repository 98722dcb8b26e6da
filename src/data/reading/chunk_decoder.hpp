// SPDX-License-Identifier: Apache-2.0
// HDF5's filters undone on a chunk as it is stored, outside HDF5 and its lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tally/hdf5/reader.hpp>

namespace tally::data {

class ChunkDecoder {
 public:
  // Whether the chunks of such a dataset can be decoded here: each known filter at most once.
  static bool knows(const hdf5::DatasetInfo& info);
  // Of a dataset it knows.
  explicit ChunkDecoder(const hdf5::DatasetInfo& info);

  // The elements of a chunk, all of `out`, from its stored bytes; bit i of `left_out` says that
  // filter i was not applied. Empty when that worked, else what is wrong with the chunk ("does
  // not inflate to 4096 bytes"); `out` then holds anything. From several threads at once.
  std::string decode(std::span<const std::byte> stored, std::uint32_t left_out,
                     std::span<std::byte> out) const;

 private:
  enum class Filter { deflate, shuffle, fletcher32 };
  // One pass through the filters: what is left of the chunk, and where the next step may write.
  struct Pass;

  void undo(std::size_t filter, std::uint32_t left_out, Pass& pass) const;

  std::vector<Filter> filters_;  // in the order in which they were applied
  std::size_t shuffled_bytes_;
};

}  // namespace tally::data
