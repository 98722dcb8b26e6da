// SPDX-License-Identifier: Apache-2.0
#include "safetensors/safetensors.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <tally/base/byte_conversions.hpp>
#include <tally/base/format.hpp>
#include <tally/base/tensor_view.hpp>
#include <tally/weights/byte_source.hpp>

#include "safetensors/flat_json.hpp"
#include "torch_save/state_dict.hpp"

namespace tally::weights {
namespace {

using nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // as in the reference reader

struct Placed {
  std::uint64_t begin = 0, end = 0;  // in the file
  std::string_view name;
};

ElementType element_type(const json& entry) {
  const auto& word = entry.at("dtype").get_ref<const std::string&>();
  const auto type = element_of_safetensors(word);
  if (!type) throw FormatError(format("its dtype {} is not read", word));
  return *type;
}

// Begin and end of a tensor's bytes, counted from the beginning of the data part, whose length is
// `data_bytes`. Beyond that the file was cut short, as far as can be seen.
std::pair<std::uint64_t, std::uint64_t> offsets(const json& entry, std::uint64_t data_bytes) {
  const auto& pair = entry.at("data_offsets");
  if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_unsigned() ||
      !pair[1].is_number_unsigned()) {
    throw FormatError("its data_offsets are not two numbers");
  }
  const auto begin = pair[0].get<std::uint64_t>();
  const auto end = pair[1].get<std::uint64_t>();
  if (begin > end || end > data_bytes) {
    throw CutShort(format("its bytes {}..{} reach past the file's {}", begin, end, data_bytes));
  }
  return {begin, end};
}

// `data`: where the data part lies in the file.
StoredTensor read_entry(const json& entry, const StoragePlace& data) {
  const auto type = element_type(entry);
  Shape tensor_shape;
  const auto& shape = entry.at("shape");
  if (!shape.is_array()) throw FormatError("its shape is not a list");
  if (shape.size() > kMaxDimensions) {
    throw FormatError(format("its shape has {} dimensions", shape.size()));
  }
  for (const auto& dimension : shape) {
    if (!dimension.is_number_unsigned()) throw FormatError("its shape is not a list of sizes");
    tensor_shape.push_back(dimension.get<std::int64_t>());
  }
  const auto [begin, end] = offsets(entry, data.num_bytes);
  const auto num_bytes = static_cast<std::int64_t>(end - begin);
  const auto element_bytes = size_bytes(type);
  const auto count = count_elements(tensor_shape);
  // The format has no strides: the bytes must be those of a contiguous tensor, to the byte.
  if (num_bytes % element_bytes != 0 || num_bytes / element_bytes != count) {
    throw FormatError(
        format("{} bytes are not those of {} {}", num_bytes, name(type), to_string(tensor_shape)));
  }
  if (count == 0) return {type, std::move(tensor_shape), {}};
  auto strides = contiguous_strides(tensor_shape);
  return whole_tensor(type, std::move(tensor_shape), std::move(strides), data.offset + begin);
}

// Throws FormatError unless each byte of the data part, from `begin` to `end`, is of exactly one
// tensor. The specification allows no holes: bytes of no tensor could hide another file.
void check_cover(std::vector<Placed> placed, std::uint64_t begin, std::uint64_t end) {
  std::sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  auto done = begin;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    if (placed[i].begin < done) {
      throw FormatError(
          format("tensors '{}' and '{}' overlap", placed[i - 1].name, placed[i].name));
    }
    if (placed[i].begin > done) {
      throw FormatError(format("{} bytes before tensor '{}' are of no tensor",
                               placed[i].begin - done, placed[i].name));
    }
    done = placed[i].end;
  }
  if (done < end) throw FormatError(format("its last {} bytes are of no tensor", end - done));
}

}  // namespace

bool looks_like_safetensors(const ByteSource& bytes) {
  if (bytes.size() <= kLengthBytes) return false;
  const auto head = bytes.read(0, kLengthBytes + 1);
  if (head[kLengthBytes] != std::byte{'{'}) return false;
  const auto header_bytes = read_little_endian<std::uint64_t>(head.data());
  // A length beyond the file's is that of a file cut short, if it could be one at all.
  return header_bytes >= 2 && header_bytes <= kMaxHeaderBytes;
}

StoredWeights read_safetensors(const ByteSource& bytes) {
  // looks_like_safetensors() was true of these bytes: the length is there, and within its limit.
  const auto length = bytes.read(0, kLengthBytes);
  const auto header_bytes = read_little_endian<std::uint64_t>(length.data());
  if (header_bytes > bytes.size() - kLengthBytes) {
    throw CutShort(format("its header of {} bytes reaches past the end", header_bytes));
  }
  const auto text = bytes.read(kLengthBytes, header_bytes);
  const auto first = kLengthBytes + header_bytes;
  const auto header = parse_flat_json(as_text(text));
  if (!header.is_object()) throw FormatError("its header is not a JSON object");
  StoredWeights weights;
  std::vector<Placed> placed;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    try {
      const auto& tensor = weights.tensors[name] =
          read_entry(entry, {first, bytes.size() - first, {}});
      for (const auto& part : tensor.parts) {
        placed.push_back(
            {part.offset, part.offset + part.num_bytes, weights.tensors.find(name)->first});
      }
    } catch (const CutShort& error) {
      throw CutShort(format("tensor '{}': {}", name, error.what()));
    } catch (const FormatError& error) {
      throw FormatError(format("tensor '{}': {}", name, error.what()));
    } catch (const json::exception&) {
      throw FormatError(format(
          "tensor '{}': its entry has no dtype, shape and data_offsets of their types", name));
    }
  }
  check_cover(std::move(placed), first, bytes.size());
  return weights;
}

}  // namespace tally::weights
