// SPDX-License-Identifier: Apache-2.0
#include <tally/weights/element_type.hpp>

#include <array>
#include <cstddef>

namespace tally::weights {
namespace {

struct ElementFacts {
  ElementType type;
  std::int64_t bytes;
  std::string_view name, storage_class, safetensors;
};
constexpr std::array kElements{
    ElementFacts{ElementType::f64, 8, "float64", "DoubleStorage", "F64"},
    ElementFacts{ElementType::f32, 4, "float32", "FloatStorage", "F32"},
    ElementFacts{ElementType::f16, 2, "float16", "HalfStorage", "F16"},
    ElementFacts{ElementType::bf16, 2, "bfloat16", "BFloat16Storage", "BF16"},
    ElementFacts{ElementType::i64, 8, "int64", "LongStorage", "I64"},
    ElementFacts{ElementType::i32, 4, "int32", "IntStorage", "I32"},
    ElementFacts{ElementType::i16, 2, "int16", "ShortStorage", "I16"},
    ElementFacts{ElementType::i8, 1, "int8", "CharStorage", "I8"},
    ElementFacts{ElementType::u8, 1, "uint8", "ByteStorage", "U8"},
    ElementFacts{ElementType::boolean, 1, "bool", "BoolStorage", "BOOL"}};

const ElementFacts& facts(ElementType type) { return kElements.at(static_cast<std::size_t>(type)); }

std::optional<ElementType> find(std::string_view ElementFacts::*column, std::string_view word) {
  for (const auto& entry : kElements) {
    if (entry.*column == word) return entry.type;
  }
  return std::nullopt;
}

}  // namespace

std::string_view name(ElementType type) { return facts(type).name; }
std::string_view safetensors_name(ElementType type) { return facts(type).safetensors; }
std::int64_t size_bytes(ElementType type) { return facts(type).bytes; }

std::optional<ElementType> element_named(std::string_view torch_name) {
  return find(&ElementFacts::name, torch_name);
}

std::optional<ElementType> element_of_storage(std::string_view storage_class) {
  return find(&ElementFacts::storage_class, storage_class);
}

std::optional<ElementType> element_of_safetensors(std::string_view word) {
  return find(&ElementFacts::safetensors, word);
}

}  // namespace tally::weights
