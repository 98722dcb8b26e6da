// SPDX-License-Identifier: Apache-2.0
#include <tally/weights/element_type.hpp>

#include <array>
#include <cstddef>

#include <tally/base/indexed_table.hpp>

namespace tally::weights {
namespace {

struct ElementInfo {
  ElementType type;
  std::int64_t bytes;
  std::string_view name, storage_class, safetensors;
};
// The order is that of ElementType, which info() uses as an index. The names of storages are those
// of classes of torch, the last column is from the specification of safetensors.
constexpr std::array kElements{
    ElementInfo{ElementType::f64, 8, "float64", "DoubleStorage", "F64"},
    ElementInfo{ElementType::f32, 4, "float32", "FloatStorage", "F32"},
    ElementInfo{ElementType::f16, 2, "float16", "HalfStorage", "F16"},
    ElementInfo{ElementType::bf16, 2, "bfloat16", "BFloat16Storage", "BF16"},
    ElementInfo{ElementType::i64, 8, "int64", "LongStorage", "I64"},
    ElementInfo{ElementType::i32, 4, "int32", "IntStorage", "I32"},
    ElementInfo{ElementType::i16, 2, "int16", "ShortStorage", "I16"},
    ElementInfo{ElementType::i8, 1, "int8", "CharStorage", "I8"},
    ElementInfo{ElementType::u8, 1, "uint8", "ByteStorage", "U8"},
    ElementInfo{ElementType::boolean, 1, "bool", "BoolStorage", "BOOL"}};

static_assert(is_indexed_by(kElements, &ElementInfo::type));

const ElementInfo& info(ElementType type) { return kElements.at(static_cast<std::size_t>(type)); }

std::optional<ElementType> find(std::string_view ElementInfo::*column, std::string_view word) {
  for (const auto& entry : kElements) {
    if (entry.*column == word) return entry.type;
  }
  return std::nullopt;
}

}  // namespace

std::string_view name(ElementType type) { return info(type).name; }
std::string_view safetensors_name(ElementType type) { return info(type).safetensors; }
std::int64_t size_bytes(ElementType type) { return info(type).bytes; }

std::optional<ElementType> element_named(std::string_view torch_name) {
  return find(&ElementInfo::name, torch_name);
}

std::optional<ElementType> element_of_storage(std::string_view storage_class) {
  return find(&ElementInfo::storage_class, storage_class);
}

std::optional<ElementType> element_of_safetensors(std::string_view word) {
  return find(&ElementInfo::safetensors, word);
}

}  // namespace tally::weights
