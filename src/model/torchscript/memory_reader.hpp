// SPDX-License-Identifier: Apache-2.0
// LibTorch's way to read a file that lies in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include <caffe2/serialize/read_adapter_interface.h>

namespace tally::model {

// `bytes` outlive the reader.
class MemoryReader final : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit MemoryReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t size() const override { return bytes_.size(); }
  std::size_t read(std::uint64_t from, void* to, std::size_t num_bytes,
                   const char* /*what*/) const override {
    if (from >= bytes_.size()) return 0;
    const auto part = bytes_.subspan(from, std::min(num_bytes, bytes_.size() - from));
    std::memcpy(to, part.data(), part.size());
    return part.size();
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace tally::model
