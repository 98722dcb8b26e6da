// SPDX-License-Identifier: Apache-2.0
#include "head_tail_cache.hpp"

#include <algorithm>

namespace tally::weights {
namespace {

// The operating system reads files by pages of 4096 bytes: fewer bytes cost the same.
constexpr std::uint64_t kEndBytes = 4096;

}  // namespace

// A source of at most two such ends is held whole, as its head.
HeadTailCache::HeadTailCache(const ByteSource& whole)
    : whole_(whole),
      head_(whole.read(0, whole.size() <= 2 * kEndBytes ? whole.size() : kEndBytes)),
      tail_(whole.size() <= 2 * kEndBytes ? std::vector<std::byte>()
                                          : whole.read(whole.size() - kEndBytes, kEndBytes)) {}

void HeadTailCache::read(std::uint64_t offset, std::span<std::byte> out) const {
  const auto tail = whole_.size() - tail_.size();
  if (offset <= head_.size() && out.size() <= head_.size() - offset) {
    std::ranges::copy(std::span(head_).subspan(offset, out.size()), out.begin());
  } else if (offset >= tail && out.size() <= whole_.size() - offset) {
    std::ranges::copy(std::span(tail_).subspan(offset - tail, out.size()), out.begin());
  } else {
    // What lies in neither end, or only partly in one, is read from the source.
    whole_.read(offset, out);
  }
}

}  // namespace tally::weights
