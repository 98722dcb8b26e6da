// SPDX-License-Identifier: Apache-2.0
#include "reading/sequence_checks.hpp"

#include <cstring>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>

#include "dataset_error.hpp"
#include "schema/allowed_values.hpp"

namespace tally::data {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& place,
                         std::int64_t value, std::int32_t length) {
  throw_dataset_error(path, place,
                      format("= {}, but the sample's length is {} (read)", value, length));
}

}  // namespace

void check_against_lengths(const std::filesystem::path& path, const ColumnInfo& column,
                           std::int64_t first, std::span<const std::byte> rows,
                           std::span<const std::int32_t> lengths) {
  if (!column.is_in_sequence && !column.padding) return;
  const auto row_bytes = to_size(column.row_bytes()),
             value_bytes = to_size(size_bytes(column.dtype));
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto row = rows.subspan(i * row_bytes, row_bytes);
    const std::int64_t sample = first + static_cast<std::int64_t>(i);
    if (column.is_in_sequence) {
      std::int32_t place = 0;
      std::memcpy(&place, row.data(), sizeof place);
      if (place > lengths[i])
        refuse(path, format("{}[{}]", column.path, sample), place, lengths[i]);
    }
    if (!column.padding) continue;
    const auto behind = row.subspan(to_size(lengths[i]) * value_bytes);
    with_label_type(column.dtype, [&](auto type) {
      for_each_value<decltype(type)>(behind, [&](std::size_t place, std::int64_t value) {
        if (value == *column.padding) return;
        refuse(path,
               format("{}[{}, {}]", column.path, sample,
                      lengths[i] + static_cast<std::int64_t>(place)),
               value, lengths[i]);
      });
    });
  }
}

}  // namespace tally::data
