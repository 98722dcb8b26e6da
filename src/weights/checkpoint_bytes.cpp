// A checkpoint's directory as bytes: CBOR of what its structs hold, in their order.
#include <nlohmann/json.hpp>

#include <tally/weights/checkpoint.hpp>

namespace tally::weights {
namespace {

using nlohmann::json;

json to_json(const StoredPart& part) {
  const auto& entry = part.entry;
  return {part.file,          part.offset,          part.num_bytes, part.shape,      part.strides,
          part.first_element, part.element_strides, entry.offset,   entry.num_bytes, entry.crc32};
}

StoredPart part_from(const json& fields) {
  return {fields.at(0), fields.at(1), fields.at(2), fields.at(3),
          fields.at(4), fields.at(5), fields.at(6), {fields.at(7), fields.at(8), fields.at(9)}};
}

json to_json(const StoredTensor& tensor) {
  auto parts = json::array();
  for (const auto& part : tensor.parts) parts.push_back(to_json(part));
  return {static_cast<int>(tensor.type), tensor.shape, std::move(parts)};
}

StoredTensor tensor_from(const json& fields) {
  StoredTensor tensor{static_cast<ElementType>(fields.at(0).get<int>()), fields.at(1), {}};
  for (const auto& part : fields.at(2)) tensor.parts.push_back(part_from(part));
  return tensor;
}

}  // namespace

std::vector<std::byte> to_bytes(const Checkpoint& checkpoint) {
  auto files = json::array();
  for (const auto& file : checkpoint.files) files.push_back({file.path, file.num_bytes});
  // Names are a pickle's bytes and may be no UTF-8.
  auto tensors = json::array();
  for (const auto& [name, tensor] : checkpoint.tensors) {
    tensors.push_back({json::binary({name.begin(), name.end()}), to_json(tensor)});
  }
  const json all{checkpoint.path,     checkpoint.kind,    std::move(files),   std::move(tensors),
                 checkpoint.location, checkpoint.skipped, checkpoint.averaged};
  const auto bytes = json::to_cbor(all);
  const auto view = std::as_bytes(std::span(bytes));
  return {view.begin(), view.end()};
}

Checkpoint checkpoint_from_bytes(std::span<const std::byte> bytes) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const auto all = json::from_cbor(first, first + bytes.size());
  Checkpoint checkpoint{all.at(0), all.at(1), {}, {}, all.at(4), all.at(5), all.at(6)};
  for (const auto& file : all.at(2)) checkpoint.files.push_back({file.at(0), file.at(1)});
  for (const auto& entry : all.at(3)) {
    const auto& name = entry.at(0).get_binary();
    checkpoint.tensors.emplace(std::string(name.begin(), name.end()), tensor_from(entry.at(1)));
  }
  return checkpoint;
}

}  // namespace tally::weights
