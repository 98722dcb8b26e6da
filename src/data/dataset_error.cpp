// SPDX-License-Identifier: Apache-2.0
#include "dataset_error.hpp"

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

namespace tally::data {

void throw_dataset_error(const std::filesystem::path& path, std::string_view object,
                         std::string_view problem, std::string_view next_step) {
  const std::string where = object.empty() ? "" : format(", {}", object);
  throw Error(ErrorKind::dataset, format("data set '{}'{} {}", path.string(), where, problem),
              next_step);
}

std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 120;
  const std::string cut = text.size() > kMost ? "…" : "";
  return printable(text.substr(0, kMost)) + cut;
}

}  // namespace tally::data
