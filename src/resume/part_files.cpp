// SPDX-License-Identifier: Apache-2.0
#include "part_files.hpp"

#include <cstdint>

#include <tally/base/format.hpp>
#include <tally/base/parse_number.hpp>

namespace tally::resume {
namespace {

constexpr std::string_view kRank = ".rank-";
constexpr int kMostAttempts = 1'000'000;
constexpr std::string_view kPartial = ".partial-";  // by partial_path(), with the process id behind

std::string begin_of_name(PartName part) {
  return format("{}{}{}{}", kProgressFilePrefix, part.attempt, kRank, part.rank);
}

bool is_name_of(PartName part, std::string_view name) {
  for (int generation = 0; generation < kNumGenerations; ++generation) {
    if (name == state_name(part, generation)) return true;
  }
  return name == records_name(part);
}

std::string_view without_partial(std::string_view name) {
  const std::size_t at = name.find(kPartial);
  if (at == std::string_view::npos) return name;
  const bool is_partial =
      parse_number<std::uint64_t>(name.substr(at + kPartial.size())).has_value();
  return is_partial ? name.substr(0, at) : name;
}

}  // namespace

std::string state_name(PartName part, int generation) {
  return format("{}.{}{}", begin_of_name(part), static_cast<char>('a' + generation),
                kStateFileSuffix);
}

std::string records_name(PartName part) { return begin_of_name(part) + ".records"; }

std::optional<PartName> part_of_file(std::string_view name) {
  name = without_partial(name);
  if (!name.starts_with(kProgressFilePrefix)) return std::nullopt;
  const std::size_t rank = name.find(kRank);
  if (rank == std::string_view::npos) return std::nullopt;
  const std::size_t rank_digits = rank + kRank.size();
  const std::size_t rank_end = name.find('.', rank_digits);
  if (rank_end == std::string_view::npos) return std::nullopt;
  const auto number = [&](std::size_t from, std::size_t to) {
    return parse_number<int>(name.substr(from, to - from));
  };
  const auto attempt_number = number(kProgressFilePrefix.size(), rank);
  const auto rank_number = number(rank_digits, rank_end);
  if (!attempt_number || !rank_number || *attempt_number < 1 || *rank_number < 0) return {};
  if (*attempt_number > kMostAttempts) return {};
  // Made again from the numbers, the name must be the same: "rank-07" is not ours.
  const PartName part{*attempt_number, *rank_number};
  return is_name_of(part, name) ? std::optional(part) : std::nullopt;
}

}  // namespace tally::resume
