#include "safetensors.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <tally/base/format.hpp>
#include <tally/base/tensor_view.hpp>

#include "byte_text.hpp"
#include "format_error.hpp"

namespace tally::model {
namespace {

using nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // as in the reference reader

struct Placed {
  std::uint64_t begin = 0, end = 0;  // in the data part
  std::string_view name;
};

ElementType element_type(const json& entry) {
  const auto& word = entry.at("dtype").get_ref<const std::string&>();
  const auto type = element_of_safetensors(word);
  if (!type) throw FormatError(format("its dtype {} is not read", word));
  return *type;
}

std::pair<std::uint64_t, std::uint64_t> offsets(const json& entry, std::size_t data_bytes) {
  const auto& pair = entry.at("data_offsets");
  if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_unsigned() ||
      !pair[1].is_number_unsigned()) {
    throw FormatError("its data_offsets are not two numbers");
  }
  const auto begin = pair[0].get<std::uint64_t>();
  const auto end = pair[1].get<std::uint64_t>();
  if (begin > end || end > data_bytes) {
    throw FormatError(format("its bytes {}..{} reach past the file's {}", begin, end, data_bytes));
  }
  return {begin, end};
}

StoredTensor read_entry(const json& entry, std::span<const std::byte> data) {
  StoredTensor tensor;
  tensor.type = element_type(entry);
  const auto& shape = entry.at("shape");
  if (!shape.is_array()) throw FormatError("its shape is not a list");
  for (const auto& dimension : shape) {
    if (!dimension.is_number_unsigned()) throw FormatError("its shape is not a list of sizes");
    tensor.shape.push_back(dimension.get<std::int64_t>());
  }
  const auto [begin, end] = offsets(entry, data.size());
  const auto num_bytes = static_cast<std::int64_t>(end - begin);
  const auto element_bytes = size_bytes(tensor.type);
  const auto count = count_elements(tensor.shape);
  if (num_bytes % element_bytes != 0 || num_bytes / element_bytes != count) {
    throw FormatError(format("{} bytes are not those of {} {}", num_bytes, name(tensor.type),
                             to_string(tensor.shape)));
  }
  tensor.strides.assign(tensor.shape.size(), 1);
  if (count > 0) tensor.strides = contiguous_strides(tensor.shape);
  tensor.bytes = data.subspan(begin, end - begin);
  return tensor;
}

void refuse_overlaps(std::vector<Placed> placed) {
  std::sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  for (std::size_t i = 1; i < placed.size(); ++i) {
    if (placed[i].begin < placed[i - 1].end) {
      throw FormatError(
          format("tensors '{}' and '{}' overlap", placed[i - 1].name, placed[i].name));
    }
  }
}

}  // namespace

bool looks_like_safetensors(std::span<const std::byte> bytes) {
  if (bytes.size() <= kLengthBytes || bytes[kLengthBytes] != std::byte{'{'}) return false;
  const auto header_bytes = read_little_endian<std::uint64_t>(bytes.data());
  // A length beyond the file's is that of a file cut short, if it could be one at all.
  return header_bytes >= 2 && header_bytes <= kMaxHeaderBytes;
}

StoredWeights read_safetensors(std::span<const std::byte> bytes) {
  const auto header_bytes = read_little_endian<std::uint64_t>(bytes.data());
  if (header_bytes > bytes.size() - kLengthBytes) {
    throw FormatError(format("its header of {} bytes reaches past the end", header_bytes));
  }
  const auto text = as_text(bytes.subspan(kLengthBytes, header_bytes));
  const auto data = bytes.subspan(kLengthBytes + header_bytes);
  const auto header = json::parse(text, nullptr, false);
  if (!header.is_object()) throw FormatError("its header is not a JSON object");
  StoredWeights weights;
  std::vector<Placed> placed;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    try {
      auto& tensor = weights.tensors[name] = read_entry(entry, data);
      if (tensor.bytes.empty()) continue;
      const auto begin = static_cast<std::uint64_t>(tensor.bytes.data() - data.data());
      placed.push_back({begin, begin + tensor.bytes.size(), weights.tensors.find(name)->first});
    } catch (const FormatError& error) {
      throw FormatError(format("tensor '{}': {}", name, error.what()));
    } catch (const json::exception& error) {
      throw FormatError(format("tensor '{}': {}", name, error.what()));
    }
  }
  refuse_overlaps(std::move(placed));
  return weights;
}

}  // namespace tally::model
