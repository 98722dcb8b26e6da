#include "archive.hpp"

#include <algorithm>

#include <c10/util/Exception.h>
#include <caffe2/serialize/inline_container.h>

#include <tally/base/format.hpp>

#include "byte_text.hpp"
#include "format_error.hpp"
#include "memory_reader.hpp"

namespace tally::model {
namespace {

// PKWARE's APPNOTE.TXT, 4.3.7 and 4.3.16.
constexpr std::string_view kLocalHeader = "PK\x03\x04";
constexpr std::string_view kEndOfDirectory = "PK\x05\x06";
constexpr std::size_t kMethodOffset = 8;
constexpr std::size_t kLocalHeaderBytes = 30;
constexpr std::size_t kLongestEnd = 22 + 65535;  // with the longest comment

template <class Call>
auto checked(std::string_view what, Call call) {
  try {
    return call();
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    throw FormatError(format("{}: {}", what, text.substr(0, text.find('\n'))));
  }
}

}  // namespace

struct Archive::Reader {
  explicit Reader(std::span<const std::byte> bytes)
      : stream(std::make_shared<MemoryReader>(bytes)) {}
  caffe2::serialize::PyTorchStreamReader stream;
};

bool looks_like_zip(std::span<const std::byte> bytes) {
  return as_text(bytes).starts_with(kLocalHeader);
}

bool has_zip_end(std::span<const std::byte> bytes) {
  const auto tail = bytes.last(std::min(bytes.size(), kLongestEnd));
  return as_text(tail).rfind(kEndOfDirectory) != std::string_view::npos;
}

Archive::Archive(std::span<const std::byte> bytes) : bytes_(bytes) {
  checked("zip directory", [&] {
    reader_ = std::make_unique<Reader>(bytes);
    entries_ = reader_->stream.getAllRecords();
  });
  std::sort(entries_.begin(), entries_.end());
}

Archive::~Archive() = default;

bool Archive::has(std::string_view entry) const {
  return std::binary_search(entries_.begin(), entries_.end(), entry);
}

bool Archive::has_under(std::string_view folder) const {
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), folder);
  return found != entries_.end() && found->starts_with(folder);
}

std::span<const std::byte> Archive::entry(const std::string& name) const {
  if (!has(name)) throw FormatError(format("the archive has no entry '{}'", name));
  return checked(format("entry '{}'", name), [&] {
    auto& stream = reader_->stream;
    const auto header = stream.getRecordHeaderOffset(name);
    const auto first = stream.getRecordOffset(name);
    const auto num_bytes = stream.getRecordSize(name);
    if (header > bytes_.size() || bytes_.size() - header < kLocalHeaderBytes ||
        first > bytes_.size() || num_bytes > bytes_.size() - first) {
      throw FormatError(format("entry '{}' reaches past the end of the file", name));
    }
    if (read_little_endian<std::uint16_t>(bytes_.data() + header + kMethodOffset) != 0) {
      throw FormatError(format("entry '{}' is compressed; PyTorch never does that", name));
    }
    return bytes_.subspan(first, num_bytes);
  });
}

}  // namespace tally::model
