// A tensor inside a weights file that lies in memory: where its bytes are and how to read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "element_type.hpp"

namespace tally::model {

struct StoredTensor {
  ElementType type = ElementType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // in elements, not negative
  // From the first element to the end of the last, inside the file's bytes; any alignment.
  std::span<const std::byte> bytes;
};

struct StoredWeights {
  std::map<std::string, StoredTensor> tensors;
  std::string location;              // where in the file: "state_dict"; empty: at the top
  std::vector<std::string> skipped;  // entries that are no tensors: "epoch (a number)"
};

// Throws FormatError for negative or overflowing sizes.
std::int64_t count_elements(std::span<const std::int64_t> shape);
// Number of elements from the first to the last that `shape` and `strides` touch; 0 if there is no
// element. Throws FormatError for negative or overflowing values.
std::int64_t extent(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);

}  // namespace tally::model
