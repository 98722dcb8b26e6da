#include "torch_save/zip_checkpoint.hpp"

#include <tally/base/byte_text.hpp>
#include <tally/weights/archive.hpp>
#include <tally/weights/format_error.hpp>

#include "pickle/pickle_reader.hpp"

namespace tally::weights {
namespace {

void refuse_big_endian(const Archive& archive) {
  if (archive.has("byteorder") && as_text(archive.content("byteorder")) != "little") {
    throw FormatError("it was written on a big-endian machine");
  }
}

}  // namespace

struct ZipCheckpoint::Impl {
  explicit Impl(const ByteSource& bytes) : archive(bytes) {
    refuse_big_endian(archive);
    pickle = archive.content("data.pkl");
  }
  Archive archive;
  std::vector<std::byte> pickle;  // the values point into it
  PickleArena arena;
};

ZipCheckpoint::ZipCheckpoint(const ByteSource& bytes)
    : impl_(std::make_unique<Impl>(bytes)),
      root_(&PickleReader(as_text(impl_->pickle), impl_->arena).load()) {}

ZipCheckpoint::~ZipCheckpoint() = default;

StoragePlace ZipCheckpoint::storage_place(const StorageRecord& storage) const {
  const auto found = impl_->archive.place("data/" + std::string(storage.key));
  return {found.offset, found.num_bytes, found.crc32};
}

StoredWeights read_zip_checkpoint(const ByteSource& bytes, std::string_view key) {
  const ZipCheckpoint checkpoint(bytes);
  return read_state_dict(checkpoint.root(), key, [&](const StorageRecord& storage) {
    return checkpoint.storage_place(storage);
  });
}

}  // namespace tally::weights
