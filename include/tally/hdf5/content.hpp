// What a file says of its objects besides their elements, in a form that does not depend on how it
// is stored: what a digest of a file's structure is made of.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/tensor_view.hpp>

namespace tally::hdf5 {

enum class ObjectKind { group, dataset, other };

struct AttributeContent {
  std::string name;
  // "integer", "float" or "string"; "other": neither shape nor bytes are given.
  std::string_view kind = "other";
  Shape shape;
  // Row-major and little-endian: integers as int64, those without a sign as uint64, floats as
  // float64; of each string its length in bytes as uint64 and these, without what fills it up.
  std::vector<std::byte> bytes;
};

struct ObjectContent {
  ObjectKind kind = ObjectKind::other;
  // Of a dataset: name(Element), "other" for elements that are not read; else empty.
  std::string_view element;
  Shape shape;                               // of a dataset that has an extent
  std::vector<AttributeContent> attributes;  // ascending by the bytes of their names
};

}  // namespace tally::hdf5
