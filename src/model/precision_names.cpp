// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/model/precision.hpp>

namespace tally::model {
namespace {

struct Word {
  Precision precision;
  std::string_view name;
};
constexpr std::array kWords{
    Word{Precision::model, "model"},      Word{Precision::fp32, "fp32"},
    Word{Precision::tf32, "tf32"},        Word{Precision::bf16, "bf16"},
    Word{Precision::fp16, "fp16"},        Word{Precision::amp_bf16, "amp-bf16"},
    Word{Precision::amp_fp16, "amp-fp16"}};

}  // namespace

std::string_view name(Precision precision) {
  return std::ranges::find(kWords, precision, &Word::precision)->name;
}

Precision precision_from_name(std::string_view word) {
  const auto found = std::ranges::find(kWords, word, &Word::name);
  if (found != kWords.end()) return found->precision;
  throw Error(ErrorKind::usage, format("--precision is '{}', which tally does not know", word));
}

}  // namespace tally::model
