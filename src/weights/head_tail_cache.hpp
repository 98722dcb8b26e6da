// SPDX-License-Identifier: Apache-2.0
// A source whose first and last bytes are read once: a small file of torch.save has its pickle and
// its directory there, and its reader asks for them in many small pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tally/weights/byte_source.hpp>

namespace tally::weights {

// `whole` outlives it.
class HeadTailCache final : public ByteSource {
 public:
  explicit HeadTailCache(const ByteSource& whole);
  using ByteSource::read;
  std::uint64_t size() const override { return whole_.size(); }
  void read(std::uint64_t offset, std::span<std::byte> out) const override;

 private:
  const ByteSource& whole_;
  std::vector<std::byte> head_, tail_;
};

}  // namespace tally::weights
