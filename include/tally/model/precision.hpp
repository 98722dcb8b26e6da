// SPDX-License-Identifier: Apache-2.0
// This names what a model computes in, as --precision has it.
#pragma once

#include <string_view>

namespace tally::model {

// `model`: as it is in its file; `tf32`: float32 whose factors a GPU rounds to 10 bits of mantissa
// before it multiplies them; `amp_bf16`, `amp_fp16`: torch's autocast, weights stay as they are.
enum class Precision { model, fp32, tf32, bf16, fp16, amp_bf16, amp_fp16 };

std::string_view name(Precision precision);
// Inverse of name(); throws Error(usage) for a word that is none.
Precision precision_from_name(std::string_view word);

}  // namespace tally::model
