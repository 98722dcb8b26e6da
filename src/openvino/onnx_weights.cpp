// SPDX-License-Identifier: Apache-2.0
#include "onnx_weights.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace tally::openvino {
namespace {

// The messages of onnx.proto (https://github.com/onnx/onnx, IR version 13) that hold tensors, and
// the numbers of their fields that do.
enum class Message { model, graph, node, attribute, function, sparse_tensor, tensor };

struct Field {
  Message in;
  protozero::pbf_tag_type number;
  Message holds;
};
constexpr Field kFields[] = {
    {Message::model, 7, Message::graph},
    {Message::model, 25, Message::function},
    {Message::graph, 1, Message::node},
    {Message::graph, 5, Message::tensor},
    {Message::graph, 15, Message::sparse_tensor},
    {Message::node, 5, Message::attribute},
    {Message::function, 7, Message::node},
    {Message::function, 11, Message::attribute},
    {Message::attribute, 5, Message::tensor},
    {Message::attribute, 6, Message::graph},
    {Message::attribute, 10, Message::tensor},
    {Message::attribute, 11, Message::graph},
    {Message::attribute, 22, Message::sparse_tensor},
    {Message::attribute, 23, Message::sparse_tensor},
    {Message::sparse_tensor, 1, Message::tensor},
    {Message::sparse_tensor, 2, Message::tensor},
};
constexpr protozero::pbf_tag_type kRawData = 9;        // of a tensor
constexpr protozero::pbf_tag_type kExternalData = 13;  // its entries: 1 is a key, 2 its value
constexpr protozero::pbf_tag_type kDataLocation = 14;
constexpr std::int32_t kIsExternal = 1;
constexpr int kDeepest = 100;  // messages in each other, which is protobuf's own limit

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::optional<Message> message_in(Message in, const protozero::pbf_reader& field) {
  if (field.wire_type() != protozero::pbf_wire_type::length_delimited) return std::nullopt;
  for (const auto& known : kFields) {
    if (known.in == in && known.number == field.tag()) return known.holds;
  }
  return std::nullopt;
}

// Where the values of a tensor lie; without a length to the end of the file.
struct ExternalData {
  std::string file;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw std::runtime_error("a tensor has an offset or a length that is no number");
  }
  return number;
}

void read_entry(protozero::pbf_reader entry, ExternalData& found) {
  std::string key;
  std::string value;
  while (entry.next()) {
    if (entry.tag() == 1) {
      key = entry.get_string();
    } else if (entry.tag() == 2) {
      value = entry.get_string();
    } else {
      entry.skip();
    }
  }
  if (key == "location") found.file = value;
  if (key == "offset") found.offset = number_of(value);
  if (key == "length") found.length = number_of(value);
}

// None for a tensor whose values are in the file itself.
std::optional<ExternalData> external_data(protozero::pbf_reader tensor) {
  ExternalData found;
  bool is_external = false;
  while (tensor.next()) {
    if (tensor.tag() == kExternalData) {
      read_entry(tensor.get_message(), found);
    } else if (tensor.tag() == kDataLocation) {
      is_external = tensor.get_enum() == kIsExternal;
    } else {
      tensor.skip();
    }
  }
  if (!is_external) return std::nullopt;
  if (found.file.empty()) throw std::runtime_error("a tensor does not say where its values are");
  return found;
}

void check_depth(int depth) {
  if (depth > kDeepest) throw std::runtime_error("its messages are nested too deeply");
}

using Visitor = std::function<void(const ExternalData&)>;

void visit(protozero::pbf_reader message, Message kind, int depth, const Visitor& visitor) {
  check_depth(depth);
  while (message.next()) {
    const auto inner = message_in(kind, message);
    if (inner == Message::tensor) {
      if (const auto found = external_data(message.get_message())) visitor(*found);
    } else if (inner) {
      visit(message.get_message(), *inner, depth + 1, visitor);
    } else {
      message.skip();
    }
  }
}

void copy_field(protozero::pbf_reader& from, protozero::pbf_writer& to) {
  using protozero::pbf_wire_type;
  switch (from.wire_type()) {
    case pbf_wire_type::varint:
      return to.add_uint64(from.tag(), from.get_uint64());
    case pbf_wire_type::fixed64:
      return to.add_fixed64(from.tag(), from.get_fixed64());
    case pbf_wire_type::fixed32:
      return to.add_fixed32(from.tag(), from.get_fixed32());
    case pbf_wire_type::length_delimited:
      return to.add_bytes(from.tag(), from.get_view());
    default:
      throw std::runtime_error("it has a field of an unknown kind");
  }
}

class Embedding {
 public:
  explicit Embedding(std::span<const WeightsFile> files) : files_(files) {}

  void copy(protozero::pbf_reader message, Message kind, int depth,
            protozero::pbf_writer& to) const {
    check_depth(depth);
    while (message.next()) {
      const auto inner = message_in(kind, message);
      if (!inner) {
        copy_field(message, to);
        continue;
      }
      protozero::pbf_writer part(to, message.tag());
      if (inner == Message::tensor) {
        copy_tensor(message.get_message(), part);
      } else {
        copy(message.get_message(), *inner, depth + 1, part);
      }
    }
  }

  std::span<const std::byte> values_of(const ExternalData& external) const {
    const auto file = std::ranges::find(files_, external.file, &WeightsFile::name);
    if (file == files_.end()) {
      throw std::runtime_error("the file '" + external.file + "' with weights is missing");
    }
    const std::uint64_t size = file->bytes.size();
    const auto left = external.offset <= size ? size - external.offset : 0;
    const auto length = external.length.value_or(left);
    if (external.offset > size || length > left) {
      throw std::runtime_error("the file '" + external.file + "' with weights is too short");
    }
    return file->bytes.subspan(external.offset, length);
  }

 private:
  void copy_tensor(protozero::pbf_reader tensor, protozero::pbf_writer& to) const {
    const auto external = external_data(tensor);
    while (tensor.next()) {
      const bool says_where = tensor.tag() == kExternalData || tensor.tag() == kDataLocation;
      if (external && says_where) {
        tensor.skip();
      } else {
        copy_field(tensor, to);
      }
    }
    if (!external) return;
    const auto values = text_of(values_of(*external));
    to.add_bytes(kRawData, values.data(), values.size());
  }

  std::span<const WeightsFile> files_;
};

}  // namespace

std::vector<std::string> weights_files_of_onnx(std::span<const std::byte> onnx) {
  std::set<std::string> names;
  const auto text = text_of(onnx);
  visit(protozero::pbf_reader(text.data(), text.size()), Message::model, 0,
        [&](const ExternalData& found) { names.insert(found.file); });
  return {names.begin(), names.end()};
}

std::string with_weights(std::span<const std::byte> onnx, std::span<const WeightsFile> files) {
  const Embedding embedding(files);
  const auto text = text_of(onnx);
  const protozero::pbf_reader model(text.data(), text.size());
  std::uint64_t size = text.size();
  visit(model, Message::model, 0, [&](const ExternalData& found) {
    size += embedding.values_of(found).size();
    // Protobuf's own limit; protozero's lengths have 32 bits.
    if (size > std::numeric_limits<std::int32_t>::max()) {
      throw std::runtime_error(
          "with its weights it has more than 2 GiB: convert it to OpenVINO's .xml (ovc)");
    }
  });
  std::string embedded;
  protozero::pbf_writer to(embedded);
  embedding.copy(model, Message::model, 0, to);
  return embedded;
}

}  // namespace tally::openvino
