// SPDX-License-Identifier: Apache-2.0
#include <tally/weights/write_safetensors.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include <tally/base/byte_conversions.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/weights/byte_pieces_and_crc32.hpp>
#include <tally/weights/byte_source.hpp>

#include "checkpoint_error.hpp"

namespace tally::weights {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t kCopyBytes = std::uint64_t{64} << 20;
// The data part begins at a multiple of 8 bytes, as the reference writer lets it begin, so that
// tensors are aligned in a file that is mapped into memory.
constexpr std::size_t kHeaderAlignment = 8;

// Calls visit(place) for each element of a block in row-major order, places counted in elements.
template <class Visit>
void walk(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides, Visit visit) {
  Shape index(shape.size(), 0);
  std::int64_t at = 0;
  for (auto left = count_elements(shape); left-- > 0;) {
    visit(at);
    for (auto i = shape.size(); i-- > 0;) {
      at += strides[i];
      if (++index[i] < shape[i]) break;
      at -= shape[i] * strides[i];
      index[i] = 0;
    }
  }
}

std::vector<std::byte> in_row_major_order(const StoredPart& part, std::size_t element_bytes,
                                          std::span<const std::byte> bytes) {
  std::vector<std::byte> block(to_size(count_elements(part.shape)) * element_bytes);
  auto* to = block.data();
  walk(part.shape, part.strides, [&](std::int64_t at) {
    std::memcpy(to, bytes.data() + to_size(at) * element_bytes, element_bytes);
    to += element_bytes;
  });
  return block;
}

// Puts tensors into the new file; knows where in it the elements of each begin.
class TensorWriter {
 public:
  TensorWriter(const Checkpoint& checkpoint, const std::map<std::string, std::string>& names,
               PartialFile& file)
      : checkpoint_(checkpoint), file_(file) {
    file_.append(place_tensors(names));
  }

  void put(const std::string& name, const StoredPart& part, std::span<const std::byte> bytes) {
    const auto element_bytes = to_size(size_bytes(checkpoint_.tensors.at(name).type));
    const auto block = in_row_major_order(part, element_bytes, bytes);
    // As many of the last dimensions as lie in the tensor without a gap are written at once.
    std::int64_t run = 1;
    auto outer = part.shape.size();
    while (outer > 0 && part.element_strides[outer - 1] == run) run *= part.shape[--outer];
    const auto run_bytes = to_size(run) * element_bytes;
    std::span<const std::byte> rest(block);
    walk(std::span(part.shape).first(outer), std::span(part.element_strides).first(outer),
         [&](std::int64_t at) {
           const auto element = to_size(part.first_element + at);
           const auto place = begins_.at(name) + element * element_bytes;
           file_.write_at(checked_cast<std::int64_t>(place), rest.first(run_bytes));
           rest = rest.subspan(run_bytes);
         });
  }

 private:
  // Returns the header with its length before it. Larger types come first, as in the reference
  // writer: so each tensor is aligned to its type without gaps, which the format does not allow.
  std::string place_tensors(const std::map<std::string, std::string>& names) {
    std::vector<std::tuple<std::int64_t, std::string, std::string>> order;
    for (const auto& [own, stored] : names) {
      order.emplace_back(-size_bytes(checkpoint_.tensors.at(stored).type), own, stored);
    }
    std::ranges::sort(order);
    auto header = json::object();
    std::uint64_t end = 0;
    for (const auto& [negative_bytes, own, stored] : order) {
      const auto& tensor = checkpoint_.tensors.at(stored);
      const auto begin = end;
      begins_[stored] = begin;
      end += checked_cast<std::uint64_t>(count_elements(tensor.shape) * -negative_bytes);
      header[own] = {{"dtype", safetensors_name(tensor.type)},
                     {"shape", tensor.shape},
                     {"data_offsets", {begin, end}}};
    }
    auto text = header_text(header);
    text.append((kHeaderAlignment - text.size() % kHeaderAlignment) % kHeaderAlignment, ' ');
    const std::uint64_t length = text.size();
    text.insert(0, reinterpret_cast<const char*>(&length), sizeof length);
    // The header counts from the beginning of the data part, write_at() from that of the file.
    for (auto& entry : begins_) entry.second += text.size();
    return text;
  }

  std::string header_text(const json& header) const {
    try {
      return header.dump();
      // JSON holds UTF-8 only, and names of a pickle may be any bytes.
    } catch (const json::exception&) {
      throw unreadable(checkpoint_.path, "a tensor's name is no UTF-8");
    }
  }

  const Checkpoint& checkpoint_;
  PartialFile& file_;
  std::map<std::string, std::uint64_t> begins_;  // by name in the checkpoint
};

void copy_tensors(const Checkpoint& checkpoint, const std::vector<Piece>& pieces,
                  TensorWriter& output) {
  std::unique_ptr<FileSource> source;
  std::size_t open = 0;
  const auto read = [&](std::size_t file, std::uint64_t offset, std::uint64_t num_bytes) {
    if (!source || open != file) source = std::make_unique<FileSource>(checkpoint.files[file].path);
    open = file;
    return source->read(offset, num_bytes);
  };
  EntryCheck check(pieces, read);
  for (const auto& piece : pieces) {
    const auto bytes = read(piece.file, piece.offset, piece.num_bytes);
    check.add(piece, bytes);
    for (const auto& content : piece.contents) {
      const auto& part = *content.part;
      output.put(*content.name, part,
                 std::span(bytes).subspan(part.offset - piece.offset, part.num_bytes));
    }
  }
  check.finish();
}

}  // namespace

void write_safetensors(const Checkpoint& checkpoint,
                       const std::map<std::string, std::string>& names, const fs::path& path) {
  PartialFile file(path);
  TensorWriter output(checkpoint, names, file);
  std::vector<std::string> stored;
  for (const auto& entry : names) stored.push_back(entry.second);
  try {
    copy_tensors(checkpoint, plan_pieces(checkpoint, stored, kCopyBytes), output);
  } catch (const FormatError& error) {
    throw unreadable(checkpoint.path, error);
  }
  file.publish_new();
}

}  // namespace tally::weights
