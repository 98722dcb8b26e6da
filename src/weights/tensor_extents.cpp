#include <tally/weights/checkpoint.hpp>

#include <algorithm>
#include <limits>
#include <utility>

#include <tally/base/format.hpp>
#include <tally/weights/format_error.hpp>

namespace tally::weights {
namespace {

// Keeps later products with an element's size clear of the end of int64.
constexpr std::int64_t kMostSpread = 64;
constexpr std::int64_t kAnySpread = 1 << 20;
constexpr std::int64_t kMaxElements = std::numeric_limits<std::int64_t>::max() / 64;

}  // namespace

std::int64_t count_elements(std::span<const std::int64_t> shape) {
  const auto negative = [](std::int64_t size) { return size < 0; };
  if (std::any_of(shape.begin(), shape.end(), negative)) throw FormatError("a negative size");
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t count = 1;
  for (const auto size : shape) {
    if (size > kMaxElements / count) throw FormatError("a tensor of impossible size");
    count *= size;
  }
  return count;
}

std::int64_t extent(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
  if (shape.size() != strides.size()) throw FormatError("a shape and strides of different length");
  if (count_elements(shape) == 0) return 0;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (strides[i] < 0) throw FormatError("a negative stride");
    const auto steps = shape[i] - 1;
    if (steps > 0 && strides[i] > (kMaxElements - last) / steps) {
      throw FormatError("a tensor of impossible size");
    }
    last += steps * strides[i];
  }
  return last + 1;
}

StoredTensor whole_tensor(ElementType type, Shape shape, Shape strides, std::uint64_t offset) {
  const auto reach = extent(shape, strides);
  // It is read whole: elements may lie apart, but not so that a few of them take all memory.
  if (reach / kMostSpread > std::max(count_elements(shape), kAnySpread)) {
    throw FormatError(format("its {} elements are spread over {}", count_elements(shape), reach));
  }
  const auto num_bytes = static_cast<std::uint64_t>(reach * size_bytes(type));
  if (num_bytes == 0) return {type, std::move(shape), {}};
  const auto in_order = contiguous_strides(shape);
  StoredPart part{0, offset, num_bytes, shape, std::move(strides), 0, in_order, {}};
  return {type, std::move(shape), {std::move(part)}};
}

}  // namespace tally::weights
