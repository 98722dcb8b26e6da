#include "legacy_checkpoint.hpp"

#include <map>
#include <string>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>

#include "byte_text.hpp"
#include "format_error.hpp"
#include "pickle_reader.hpp"
#include "state_dict.hpp"

namespace tally::model {
namespace {

using namespace std::literals;

// torch/serialization.py: MAGIC_NUMBER as a pickle of protocol 2, and PROTOCOL_VERSION.
constexpr std::string_view kMagicPickle =
    "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."sv;
constexpr std::int64_t kProtocolVersion = 1001;
constexpr std::size_t kCountBytes = 8;

using StorageTable = std::map<std::string_view, std::span<const std::byte>>;

// Element types of all storages, by key, wherever in the object they are used.
using StorageTypes = std::map<std::string_view, ElementType>;

StorageTypes storage_types(const PickleArena& arena) {
  StorageTypes types;
  for (const auto& storage : arena.storages()) {
    if (storage.type) types.emplace(storage.key, *storage.type);
  }
  return types;
}

// `rest` starts behind the pickles: per key a u64 count of elements, then the elements.
StorageTable read_storages(std::span<const std::byte> rest, const PickleValue& keys,
                           const StorageTypes& types) {
  StorageTable table;
  for (const auto* key : keys.items) {
    const auto type = types.find(key->text);
    if (type == types.end()) {
      throw FormatError(format("storage '{}' is of a type that is not read", key->text));
    }
    if (rest.size() < kCountBytes) throw FormatError("the file ends early");
    const auto count = read_little_endian<std::uint64_t>(rest.data());
    rest = rest.subspan(kCountBytes);
    const auto element_bytes = static_cast<std::uint64_t>(size_bytes(type->second));
    if (count > rest.size() / element_bytes) throw FormatError("the file ends early");
    table.emplace(key->text, rest.first(count * element_bytes));
    rest = rest.subspan(count * element_bytes);
  }
  return table;
}

}  // namespace

bool looks_like_legacy_checkpoint(std::span<const std::byte> bytes) {
  return as_text(bytes).starts_with(kMagicPickle);
}

StoredWeights read_legacy_checkpoint(std::span<const std::byte> bytes, std::string_view key) {
  PickleArena arena;
  PickleReader reader(as_text(bytes), arena);
  reader.load();  // the magic number
  if (reader.load().integer != kProtocolVersion) throw FormatError("unknown protocol version");
  const auto& system = reader.load();
  if (const auto* little = find(system, "little_endian"); little != nullptr && !little->integer) {
    throw FormatError("it was written on a big-endian machine");
  }
  const auto& root = reader.load();
  const auto& keys = reader.load();
  const auto table = read_storages(bytes.subspan(reader.position()), keys, storage_types(arena));
  return read_state_dict(root, key, [&](const StorageRecord& storage) {
    const auto found = table.find(storage.key);
    if (found == table.end()) throw FormatError("its storage is not in the file");
    return found->second;
  });
}

}  // namespace tally::model
