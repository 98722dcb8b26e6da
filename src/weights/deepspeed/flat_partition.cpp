#include "deepspeed/flat_partition.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/weights/format_error.hpp>

namespace tally::weights {

Flat as_flat(const StoredTensor& tensor) {
  if (tensor.shape.size() != 1) {
    throw FormatError(format("a flat tensor of shape {}", to_string(tensor.shape)));
  }
  if (tensor.parts.empty()) return {tensor.type, 0, 0, 0, {}};
  const auto& part = tensor.parts.front();
  if (tensor.shape.front() > 1 && part.strides.front() != 1) {
    throw FormatError("a flat tensor with gaps");
  }
  return {tensor.type, part.file, part.offset, tensor.shape.front(), part.entry};
}

FlatPartition::FlatPartition(std::vector<Flat> flats) : flats_(std::move(flats)) {
  for (const auto& flat : flats_) {
    if (flat.type != flats_.front().type) {
      throw FormatError(format("its flat tensors are of types {} and {}", name(flats_.front().type),
                               name(flat.type)));
    }
    // Each is as large as the bytes it has in a file; all may be the same ones.
    ends_.push_back(count_elements(std::array{size() + flat.num_elements}));
  }
}

StoredTensor FlatPartition::tensor(Shape shape) const {
  return {flats_.empty() ? ElementType::f32 : flats_.front().type, std::move(shape), {}};
}

void FlatPartition::add_parts(StoredTensor& tensor, std::int64_t first, std::int64_t count,
                              std::int64_t to) const {
  if (first < 0 || count < 0 || first > size() || count > size() - first) {
    throw FormatError(
        format("it is said to lie at element {} of flat tensors with {}", first, size()));
  }
  const auto element_bytes = size_bytes(tensor.type);
  for (auto end = std::ranges::upper_bound(ends_, first); count > 0; ++end) {
    const auto& flat = flats_[to_size(end - ends_.begin())];
    const auto taken = std::min(count, *end - first);
    if (taken == 0) continue;
    const auto skipped =
        checked_cast<std::uint64_t>((flat.num_elements - (*end - first)) * element_bytes);
    tensor.parts.push_back({flat.file,
                            flat.offset + skipped,
                            checked_cast<std::uint64_t>(taken * element_bytes),
                            {taken},
                            {1},
                            to,
                            {1},
                            flat.entry});
    first += taken;
    to += taken;
    count -= taken;
  }
}

}  // namespace tally::weights
