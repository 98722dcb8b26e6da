// SPDX-License-Identifier: Apache-2.0
#include <tally/weights/zip_stream.hpp>

#include <algorithm>
#include <span>

#include <c10/util/Exception.h>
#include <caffe2/serialize/inline_container.h>
#include <caffe2/serialize/read_adapter_interface.h>

#include <tally/base/format.hpp>

namespace tally::weights {
namespace {

// LibTorch's reader of archives reads through this.
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

// c10::Error has a backtrace of many lines in its text; our errors have one line.
template <class Call>
auto checked(std::string_view what, Call call) {
  try {
    return call();
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    throw FormatError(format("{}: {}", what, text.substr(0, text.find('\n'))));
  }
}

class TorchZipStream final : public ZipStream {
 public:
  explicit TorchZipStream(const ByteSource& bytes) : stream_(std::make_shared<Adapter>(bytes)) {}

  std::vector<std::string> names() override {
    return checked("zip directory", [&] { return stream_.getAllRecords(); });
  }

  Record record(const std::string& name) override {
    return checked(format("entry '{}'", name), [&] {
      const auto header = stream_.getRecordHeaderOffset(name);
      return Record{header, stream_.getRecordOffset(name), stream_.getRecordSize(name)};
    });
  }

 private:
  caffe2::serialize::PyTorchStreamReader stream_;
};

}  // namespace

std::unique_ptr<ZipStream> open_zip_stream(const ByteSource& bytes) {
  return checked("zip directory", [&] { return std::make_unique<TorchZipStream>(bytes); });
}

}  // namespace tally::weights
