// SPDX-License-Identifier: Apache-2.0
#include <tally/watch/checkpoint_version.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <tuple>
#include <vector>

#include <tally/base/parse_number.hpp>

namespace tally::watch {
namespace {

constexpr std::string_view kDigits = "0123456789";
using Words = std::span<const std::string_view>;
// The words in front of the number that says how far training was. Steps are looked for first, for
// a name may hold both ("epoch=3-step=500") and steps are finer.
constexpr std::array<std::string_view, 2> kStep = {"step", "steps"};
constexpr std::array<std::string_view, 8> kOthers = {
    "epoch", "epochs", "iter", "iters", "iteration", "iterations", "checkpoint", "checkpoints"};

bool is_digit(char c) { return kDigits.find(c) != std::string_view::npos; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string in_lower_case(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

struct Number {
  std::string_view before;  // the text of the name in front of it
  std::int64_t value;
};

// Numbers with a decimal point are metrics ("val_loss=0.25"), and neither 0 nor 25 is a step.
bool is_part_of_decimal(std::string_view name, std::size_t begin, std::size_t end) {
  const auto digit_at = [&](std::size_t i) { return i < name.size() && is_digit(name[i]); };
  const bool fraction = begin >= 2 && name[begin - 1] == '.' && digit_at(begin - 2);
  const bool whole = end < name.size() && name[end] == '.' && digit_at(end + 1);
  return fraction || whole;
}

std::vector<Number> whole_numbers(std::string_view name) {
  std::vector<Number> numbers;
  for (std::size_t end = 0;;) {
    const std::size_t begin = name.find_first_of(kDigits, end);
    if (begin == std::string_view::npos) return numbers;
    end = std::min(name.find_first_not_of(kDigits, begin), name.size());
    // There is no value where the digits exceed 64 bits: such a number is no step.
    const auto value = parse_number<std::int64_t>(name.substr(begin, end - begin));
    if (value && !is_part_of_decimal(name, begin, end)) {
      numbers.push_back({name.substr(0, begin), *value});
    }
  }
}

// Whether one of the words stands before a number: "epoch=", "epoch_", "epoch-" and "epoch" itself
// mean the same.
bool ends_with_any(std::string_view text, Words words) {
  text = text.substr(0, text.find_last_not_of("=_-:. #") + 1);
  return std::ranges::any_of(words, [&](auto word) { return text.ends_with(word); });
}

// Takes the ending off, so that the 2 of ".pt2" is no step. An ending begins with a letter.
std::string_view without_ending(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  const bool is_ending =
      dot != std::string_view::npos && dot > 0 && dot + 1 < name.size() && is_letter(name[dot + 1]);
  return is_ending ? name.substr(0, dot) : name;
}

}  // namespace

bool is_same_version(const Checkpoint& a, const Checkpoint& b) {
  return a.name == b.name && a.bytes == b.bytes && a.modified_ns == b.modified_ns;
}

std::optional<std::int64_t> step_of(std::string_view name) {
  const std::string lower = in_lower_case(name);
  const auto numbers = whole_numbers(lower);
  for (const Words words : {Words(kStep), Words(kOthers)}) {
    for (const Number& number : numbers) {
      if (ends_with_any(number.before, words)) return number.value;
    }
  }
  const auto candidates = whole_numbers(without_ending(lower));
  return candidates.empty() ? std::nullopt : std::optional(candidates.back().value);
}

bool stands_before(const Checkpoint& a, const Checkpoint& b) {
  const auto place = [](const Checkpoint& of) {
    // The first element puts checkpoints with a step, for which it is false, before all others.
    return std::tuple(!of.step, of.step ? *of.step : of.modified_ns, std::string_view(of.name));
  };
  return place(a) < place(b);
}

}  // namespace tally::watch
