// Parameters that lie one after the other in flat tensors, as DeepSpeed's ZeRO keeps them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tally/weights/checkpoint.hpp>

namespace tally::weights {

// A tensor of one dimension without gaps.
struct Flat {
  ElementType type = ElementType::f32;
  std::size_t file = 0;      // index into Checkpoint::files
  std::uint64_t offset = 0;  // of its first byte
  std::int64_t num_elements = 0;
  StoredEntry entry;  // in which it lies
};

// Throws FormatError if the tensor is no flat one.
Flat as_flat(const StoredTensor& tensor);

// Flat tensors of one type, one after the other.
class FlatPartition {
 public:
  // Throws FormatError for tensors of several types, or too many elements.
  explicit FlatPartition(std::vector<Flat> flats);

  std::int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  // A tensor of the row's type, without parts yet.
  StoredTensor tensor(Shape shape) const;
  // `count` elements of the row from `first` on are those of `tensor` from `to` on, in row-major
  // order. Throws FormatError if the row has not so many.
  void add_parts(StoredTensor& tensor, std::int64_t first, std::int64_t count,
                 std::int64_t to) const;

 private:
  std::vector<Flat> flats_;
  std::vector<std::int64_t> ends_;  // of each in the row
};

}  // namespace tally::weights
