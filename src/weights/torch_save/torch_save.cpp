// SPDX-License-Identifier: Apache-2.0
#include "torch_save/torch_save.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include <tally/base/byte_conversions.hpp>
#include <tally/base/format.hpp>
#include <tally/weights/byte_source.hpp>
#include <tally/weights/zip_archive.hpp>

#include "pickle/pickle_reader.hpp"
#include "torch_save/state_dict.hpp"

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

namespace {

using namespace std::literals;

// torch/serialization.py: MAGIC_NUMBER as a pickle of protocol 2, and PROTOCOL_VERSION.
constexpr std::string_view kMagicPickle =
    "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."sv;
constexpr std::int64_t kProtocolVersion = 1001;
constexpr std::size_t kCountBytes = 8;

// The pickles of a file are read by growing parts of it: how long they are nobody says.
constexpr std::uint64_t kFirstPart = std::uint64_t{1} << 20;
constexpr std::uint64_t kLongestPickles = std::uint64_t{1} << 30;

using StorageTable = std::map<std::string_view, StoragePlace>;

// Element types of all storages, by key, wherever in the object they are used.
using StorageTypes = std::map<std::string_view, ElementType>;

// The list of keys behind the object does not say how large an element is.
StorageTypes storage_types(const PickleArena& arena) {
  StorageTypes types;
  for (const auto& storage : arena.storages()) {
    if (storage.type) types.emplace(storage.key, *storage.type);
  }
  return types;
}

// Where each storage lies. From byte `at` on the file has for each key, in the order of the list, a
// u64 count of elements, then the elements. One of unknown size makes all behind it unreachable, so
// a type that is not read is an error here, even if no weight uses it.
StorageTable find_storages(const ByteSource& bytes, std::uint64_t at, const PickleValue& keys,
                           const StorageTypes& types) {
  StorageTable table;
  for (const auto* key : keys.items) {
    const auto type = types.find(key->text);
    if (type == types.end()) {
      throw FormatError(format("storage '{}' is of a type that is not read", key->text));
    }
    if (bytes.size() - at < kCountBytes) throw CutShort("the file ends early");
    std::array<std::byte, kCountBytes> digits{};
    bytes.read(at, digits);
    at += kCountBytes;
    const auto count = read_little_endian<std::uint64_t>(digits.data());
    const auto element_bytes = static_cast<std::uint64_t>(size_bytes(type->second));
    if (count > (bytes.size() - at) / element_bytes) throw CutShort("the file ends early");
    table.emplace(key->text, StoragePlace{at, count * element_bytes, {}});
    at += count * element_bytes;
  }
  return table;
}

// `head`: the beginning of the file. Throws EndsEarly where a pickle goes on behind it, and
// CutShort where the file itself lacks bytes of a storage.
StoredWeights read(const ByteSource& bytes, std::string_view head, std::string_view key) {
  PickleArena arena;
  PickleReader reader(head, arena);
  reader.load();  // the magic number
  if (reader.load().integer != kProtocolVersion) throw FormatError("unknown protocol version");
  const auto& system = reader.load();
  if (const auto* little = find(system, "little_endian"); little != nullptr && !little->integer) {
    throw FormatError("it was written on a big-endian machine");
  }
  const auto& root = reader.load();
  const auto& keys = reader.load();
  const auto table = find_storages(bytes, reader.position(), keys, storage_types(arena));
  return read_state_dict(root, key, [&](const StorageRecord& storage) {
    const auto found = table.find(storage.key);
    if (found == table.end()) throw FormatError("its storage is not in the file");
    return found->second;
  });
}

}  // namespace

bool looks_like_legacy_checkpoint(const ByteSource& bytes) {
  const auto head = bytes.read(0, std::min<std::uint64_t>(bytes.size(), kMagicPickle.size()));
  return as_text(head) == kMagicPickle;
}

StoredWeights read_legacy_checkpoint(const ByteSource& bytes, std::string_view key) {
  // Only the pickles need more bytes; with a factor of 8 what was read in vain is at most a seventh
  // of the last part.
  for (auto part = kFirstPart;; part = std::min(part * 8, kLongestPickles)) {
    const auto head = bytes.read(0, std::min(bytes.size(), part));
    const bool is_last = head.size() == bytes.size() || part >= kLongestPickles;
    try {
      return read(bytes, as_text(head), key);
    } catch (const EndsEarly&) {
      if (is_last) throw;
    }
  }
}

}  // namespace tally::weights
