// SPDX-License-Identifier: Apache-2.0
#include "dcp/chunk_cover.hpp"

#include <algorithm>

#include <tally/base/format.hpp>
#include <tally/weights/byte_source.hpp>
#include <tally/weights/checkpoint.hpp>

namespace tally::weights {
namespace {

// Bounds how often parts of parts are cut again: a mesh of devices has a few dimensions, and a
// tensor has a few, too.
constexpr int kMaxCuts = 32;

using Chunks = std::vector<const Chunk*>;

void check_bounds(const Shape& shape, const Chunk& chunk) {
  bool inside = chunk.offsets.size() == shape.size() && chunk.sizes.size() == shape.size();
  for (std::size_t i = 0; inside && i < shape.size(); ++i) {
    const auto offset = chunk.offsets[i];
    const auto size = chunk.sizes[i];
    inside = offset >= 0 && size >= 0 && offset <= shape[i] && size <= shape[i] - offset;
  }
  if (inside) return;
  throw FormatError(format("its chunk {} at {} lies outside of its shape {}",
                           to_string(chunk.sizes), to_string(chunk.offsets), to_string(shape)));
}

[[noreturn]] void throw_overlap() { throw FormatError("its chunks overlap"); }

// Sorts the chunks along a dimension and returns where no chunk crosses: the first of each part.
std::vector<std::size_t> cut(Chunks& chunks, std::size_t dimension) {
  std::ranges::sort(chunks, {}, [&](const Chunk* chunk) { return chunk->offsets[dimension]; });
  std::vector<std::size_t> firsts;
  std::int64_t end = 0;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const auto offset = chunks[i]->offsets[dimension];
    if (i == 0 || offset >= end) firsts.push_back(i);
    end = std::max(end, offset + chunks[i]->sizes[dimension]);
  }
  return firsts;
}

// Looks for a dimension along which the chunks fall into parts that no chunk crosses, and checks
// each part by itself. Comparing all pairs would take quadratic time, and a checkpoint of many
// ranks has many chunks. Where no dimension separates the chunks they overlap, or are no sharding
// of PyTorch.
void check_disjoint(Chunks chunks, std::size_t num_dimensions, int num_cuts) {
  if (chunks.size() < 2) return;
  for (std::size_t dimension = 0; dimension < num_dimensions; ++dimension) {
    auto firsts = cut(chunks, dimension);
    if (firsts.size() == 1) continue;
    // Each chunk is a part of its own, so no two of them can meet.
    if (firsts.size() == chunks.size()) return;
    if (num_cuts == kMaxCuts) throw_overlap();
    firsts.push_back(chunks.size());
    for (std::size_t i = 0; i + 1 < firsts.size(); ++i) {
      const auto at = [&](std::size_t k) {
        return chunks.begin() + static_cast<std::ptrdiff_t>(firsts[k]);
      };
      check_disjoint(Chunks(at(i), at(i + 1)), num_dimensions, num_cuts + 1);
    }
    return;
  }
  throw_overlap();
}

}  // namespace

void check_cover(const Shape& shape, const std::vector<Chunk>& chunks) {
  const auto count = count_elements(shape);
  std::int64_t covered = 0;
  Chunks filled;
  for (const auto& chunk : chunks) {
    check_bounds(shape, chunk);
    const auto part = count_elements(chunk.sizes);
    if (part == 0) continue;
    // More elements than the tensor has cannot be disjoint. The sum stays within int64 by this,
    // too.
    if (part > count - covered) throw_overlap();
    covered += part;
    filled.push_back(&chunk);
  }
  // Disjoint chunks with as many elements as the tensor hold each element once.
  check_disjoint(std::move(filled), shape.size(), 0);
  if (covered != count) {
    throw FormatError(format("its chunks have {} of its {} elements", covered, count));
  }
}

}  // namespace tally::weights
