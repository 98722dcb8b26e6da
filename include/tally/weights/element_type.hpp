// SPDX-License-Identifier: Apache-2.0
// Lists the element types of stored weights, with their names in torch.save and safetensors files.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tally::weights {

enum class ElementType { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };

std::string_view name(ElementType type);  // "float32", as torch prints it
std::int64_t size_bytes(ElementType type);
constexpr bool is_floating_point(ElementType type) { return type <= ElementType::bf16; }

// Inverse of name(); none for a type that is not read.
std::optional<ElementType> element_named(std::string_view torch_name);
// "FloatStorage"; none for a type that is not read (complex, quantised, 8-bit floats).
std::optional<ElementType> element_of_storage(std::string_view storage_class);
// "F32"
std::string_view safetensors_name(ElementType type);
// Its inverse; none for a type that is not read.
std::optional<ElementType> element_of_safetensors(std::string_view word);

}  // namespace tally::weights
