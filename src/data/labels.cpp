#include "labels.hpp"

#include <tally/base/format.hpp>

#include "refuse.hpp"

namespace tally::data {

bool is_label(const ColumnInfo& column) { return column.path == "/targets/label"; }

bool in_range(const DataSetInfo& info, std::int64_t label) {
  return (label >= 0 && label < info.num_classes) || label == info.ignore_index;
}

std::string expected_labels(const DataSetInfo& info) {
  const std::string range = format("0..{}", info.num_classes - 1);
  return info.ignore_index ? format("{} or ignore_index {}", range, *info.ignore_index) : range;
}

void check_labels(const DataSetInfo& info, const ColumnInfo& column, std::int64_t first,
                  std::span<const std::int64_t> labels) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (in_range(info, labels[i])) continue;
    refuse(info.path, format("{}[{}]", column.path, first + static_cast<std::int64_t>(i)),
           format("= {}, expected {} (read)", labels[i], expected_labels(info)),
           format("Check the labels with 'tally inspect {}'.", info.path.string()));
  }
}

}  // namespace tally::data
