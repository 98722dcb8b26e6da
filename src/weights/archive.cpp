#include <tally/weights/archive.hpp>

#include <algorithm>

#include <c10/util/Exception.h>
#include <caffe2/serialize/inline_container.h>
#include <caffe2/serialize/read_adapter_interface.h>

#include <tally/base/byte_text.hpp>
#include <tally/base/format.hpp>
#include <tally/weights/format_error.hpp>

namespace tally::weights {
namespace {

// PKWARE's APPNOTE.TXT, 4.3.7 and 4.3.16.
constexpr std::string_view kLocalHeader = "PK\x03\x04";
constexpr std::string_view kEndOfDirectory = "PK\x05\x06";
constexpr std::size_t kMethodOffset = 8;
constexpr std::size_t kNameLengthOffset = 26;
constexpr std::size_t kLocalHeaderBytes = 30;
constexpr std::uint64_t kLongestEnd = 22 + 65535;  // with the longest comment
constexpr std::uint64_t kLongestContent = std::uint64_t{1} << 30;

// What LibTorch's reader reads through.
class Adapter final : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit Adapter(const ByteSource& bytes) : bytes_(bytes) {}

  std::size_t size() const override { return bytes_.size(); }
  std::size_t read(std::uint64_t from, void* to, std::size_t num_bytes,
                   const char* /*what*/) const override {
    if (from >= bytes_.size()) return 0;
    const auto count = std::min<std::uint64_t>(num_bytes, bytes_.size() - from);
    bytes_.read(from, {static_cast<std::byte*>(to), count});
    return count;
  }

 private:
  const ByteSource& bytes_;
};

template <class Call>
auto checked(std::string_view what, Call call) {
  try {
    return call();
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    throw FormatError(format("{}: {}", what, text.substr(0, text.find('\n'))));
  }
}

FormatError another_name(const std::string& name) {
  return FormatError(format("entry '{}' has another name where it lies", name));
}

// What stands before an entry's bytes must be of the entry that the directory names.
// The folder before its name there, the same for all.
std::string check_local_header(const ByteSource& bytes, std::uint64_t at, const std::string& name) {
  const auto header = bytes.read(at, kLocalHeaderBytes);
  const auto field = [&](std::size_t offset) {
    return read_little_endian<std::uint16_t>(header.data() + offset);
  };
  if (field(kMethodOffset) != 0) {
    throw FormatError(format("entry '{}' is compressed; PyTorch never does that", name));
  }
  const auto local_name = bytes.read(at + kLocalHeaderBytes, field(kNameLengthOffset));
  auto folder = "/" + std::string(as_text(local_name));
  if (!folder.ends_with("/" + name)) throw another_name(name);
  folder.resize(folder.size() - name.size());
  return folder;
}

}  // namespace

struct Archive::Reader {
  explicit Reader(const ByteSource& bytes) : stream(std::make_shared<Adapter>(bytes)) {}
  caffe2::serialize::PyTorchStreamReader stream;
};

bool looks_like_zip(const ByteSource& bytes) {
  const auto head = bytes.read(0, std::min<std::uint64_t>(bytes.size(), kLocalHeader.size()));
  return as_text(head) == kLocalHeader;
}

bool has_zip_end(const ByteSource& bytes) {
  const auto num_bytes = std::min(bytes.size(), kLongestEnd);
  const auto tail = bytes.read(bytes.size() - num_bytes, num_bytes);
  return as_text(tail).rfind(kEndOfDirectory) != std::string_view::npos;
}

Archive::Archive(const ByteSource& bytes) : bytes_(bytes) {
  if (!has_zip_end(bytes)) throw CutShort("the end of its zip archive is missing");
  checked("zip directory", [&] {
    reader_ = std::make_unique<Reader>(bytes);
    entries_ = reader_->stream.getAllRecords();
  });
  std::sort(entries_.begin(), entries_.end());
  const auto twice = std::adjacent_find(entries_.begin(), entries_.end());
  if (twice != entries_.end()) {
    throw FormatError(format("the archive has two entries '{}'", *twice));
  }
}

Archive::~Archive() = default;

bool Archive::has(std::string_view entry) const {
  return std::binary_search(entries_.begin(), entries_.end(), entry);
}

bool Archive::has_under(std::string_view folder) const {
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), folder);
  return found != entries_.end() && found->starts_with(folder);
}

Archive::Place Archive::place(const std::string& name) const {
  if (!has(name)) throw FormatError(format("the archive has no entry '{}'", name));
  return checked(format("entry '{}'", name), [&] {
    auto& stream = reader_->stream;
    const auto header = stream.getRecordHeaderOffset(name);
    const Place found{stream.getRecordOffset(name), stream.getRecordSize(name)};
    if (header > bytes_.size() || bytes_.size() - header < kLocalHeaderBytes ||
        found.offset > bytes_.size() || found.num_bytes > bytes_.size() - found.offset) {
      throw FormatError(format("entry '{}' reaches past the end of the file", name));
    }
    const auto folder = check_local_header(bytes_, header, name);
    if (folder_.empty()) folder_ = folder;
    if (folder != folder_) throw another_name(name);
    return found;
  });
}

std::vector<std::byte> Archive::content(const std::string& name) const {
  const auto found = place(name);
  if (found.num_bytes > kLongestContent) {
    throw FormatError(format("entry '{}' has {} bytes", name, found.num_bytes));
  }
  return bytes_.read(found.offset, found.num_bytes);
}

}  // namespace tally::weights
