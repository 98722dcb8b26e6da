// SPDX-License-Identifier: Apache-2.0
// Reads bytes at any place: of a file, of a part of one, of memory; and defines the errors of bytes
// that are not what they should be. Files are not mapped: one that shrinks while it is read is an
// error then, not a signal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <tally/base/files.hpp>
#include <tally/base/printable.hpp>

namespace tally::weights {

// What is wrong inside a file: thrown by the readers, which know bytes but no file name.

// what() is printable: names in it come from the file, and may hold any bytes.
struct FormatError : std::runtime_error {
  explicit FormatError(std::string_view what) : std::runtime_error(printable(what)) {}
};

// The file has fewer bytes than it says: it was cut short, or is damaged.
struct CutShort : FormatError {
  using FormatError::FormatError;
};

// Of its pickle fewer bytes were read than it says.
struct EndsEarly : CutShort {
  using CutShort::CutShort;
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::uint64_t size() const = 0;
  // Fills `out` with the bytes from `offset` on. Throws FormatError where there are not so many, or
  // saying why they cannot be read.
  virtual void read(std::uint64_t offset, std::span<std::byte> out) const = 0;
  // The same; no memory is taken for more bytes than there are.
  std::vector<std::byte> read(std::uint64_t offset, std::uint64_t num_bytes) const;
};

// `bytes` outlive it.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  using ByteSource::read;
  std::uint64_t size() const override { return bytes_.size(); }
  void read(std::uint64_t offset, std::span<std::byte> out) const override;

 private:
  std::span<const std::byte> bytes_;
};

class FileSource final : public ByteSource {
 public:
  // Error(model) if it is no regular file that can be opened.
  explicit FileSource(const std::filesystem::path& path);
  using ByteSource::read;
  std::uint64_t size() const override { return size_; }
  void read(std::uint64_t offset, std::span<std::byte> out) const override;

 private:
  UniqueDescriptor file_;
  std::uint64_t size_ = 0;
};

// A part of another source, which outlives it.
class SliceSource final : public ByteSource {
 public:
  // Throws FormatError if the part does not lie within `whole`.
  SliceSource(const ByteSource& whole, std::uint64_t offset, std::uint64_t num_bytes);
  using ByteSource::read;
  std::uint64_t size() const override { return num_bytes_; }
  void read(std::uint64_t offset, std::span<std::byte> out) const override;

 private:
  const ByteSource& whole_;
  std::uint64_t offset_, num_bytes_;
};

}  // namespace tally::weights
