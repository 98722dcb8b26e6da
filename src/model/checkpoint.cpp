#include "checkpoint.hpp"

#include "archive.hpp"
#include "byte_text.hpp"
#include "format_error.hpp"
#include "pickle_reader.hpp"
#include "state_dict.hpp"

namespace tally::model {
namespace {

void refuse_big_endian(const Archive& archive) {
  if (archive.has("byteorder") && as_text(archive.entry("byteorder")) != "little") {
    throw FormatError("it was written on a big-endian machine");
  }
}

}  // namespace

StoredWeights read_checkpoint(std::span<const std::byte> bytes, std::string_view key) {
  const Archive archive(bytes);
  refuse_big_endian(archive);
  PickleArena arena;
  const auto& root = PickleReader(as_text(archive.entry("data.pkl")), arena).load();
  return read_state_dict(root, key, [&](const StorageRecord& storage) {
    return archive.entry("data/" + std::string(storage.key));
  });
}

std::optional<std::string> pickled_class(std::span<const std::byte> bytes) {
  const Archive archive(bytes);
  PickleArena arena;
  const auto& root = PickleReader(as_text(archive.entry("data.pkl")), arena).load();
  if (root.kind != PickleKind::object) return std::nullopt;
  return std::string(root.text);
}

}  // namespace tally::model
