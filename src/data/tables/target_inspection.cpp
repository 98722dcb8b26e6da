// SPDX-License-Identifier: Apache-2.0
#include "tables/target_inspection.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/base/task_traits.hpp>

#include "reading/column_pieces_and_offsets.hpp"
#include "schema/allowed_values.hpp"
#include "schema/task_rules.hpp"
#include "tables/table_inspection.hpp"

namespace tally::data {
namespace {

constexpr std::int64_t kMaxBadShown = 10;

// Values that the schema does not allow: how many, and lines about the first of them.
struct BadValues {
  std::int64_t count = 0;
  Lines first;
};

// Calls use(place in the row, value) for every value of /targets/label that is allowed, in order.
// Values are stored as T; `Judged` picks the overload of allowed(), which has one for all integer
// classes.
template <class T, class Judged = T, class Use>
BadValues for_each_allowed(DataSet& data_set, const Use& use) {
  const DataSetInfo& info = data_set.info();
  const ColumnInfo& column = info.columns.targets.front();
  const std::int64_t in_row = num_elements(column.row_shape);
  BadValues bad;
  for_each_piece(data_set, column, 1, [&](std::int64_t first, std::span<const std::byte> bytes) {
    for_each_value<T>(bytes, [&](std::size_t i, T value) {
      if (allowed(info, static_cast<Judged>(value))) {
        use(static_cast<std::int64_t>(i) % in_row, value);
      } else if (bad.count++ < kMaxBadShown) {
        bad.first.push_back(format("  {} = {}, expected {}", place_of(column, first, i), value,
                                   expected_labels(info)));
      }
    });
  });
  return bad;
}

void append_bad(Lines& lines, const BadValues& bad, std::string_view what) {
  if (bad.count == 0) return;
  lines.push_back(format("{}: {}", what, bad.count));
  lines.insert(lines.end(), bad.first.begin(), bad.first.end());
  if (bad.count > kMaxBadShown)
    lines.push_back(format("  … and {} more", bad.count - kMaxBadShown));
}

struct Counts {
  std::map<std::int64_t, std::int64_t> of;  // only what occurs: num_classes may be 2^31
  std::int64_t num_ignored = 0;
  BadValues bad;
};

std::string summary(const DataSetInfo& info, const Counts& counts) {
  std::string text = format("labels: {} of {} {} occur", counts.of.size(), info.num_classes,
                            task_traits(info.task).many);
  if (!counts.of.empty()) {
    const auto [least, most] =
        std::ranges::minmax_element(counts.of, {}, [](const auto& entry) { return entry.second; });
    text += format("; of these fewest {} ({}), most {} ({})", least->second,
                   counted_name(info, least->first), most->second, counted_name(info, most->first));
  }
  return counts.num_ignored == 0 ? text : format("{}; {} ignored", text, counts.num_ignored);
}

// `unit` follows each number.
Lines count_lines(const DataSetInfo& info, const Counts& counts, std::string_view unit) {
  Lines lines{summary(info, counts)};
  append_each(lines, info, [&](std::int64_t c) {
    const auto found = counts.of.find(c);
    return format("{}{}", found == counts.of.end() ? 0 : found->second, unit);
  });
  append_bad(lines, counts.bad, "labels out of range");
  return lines;
}

// What a label is of, where a sample has several.
std::string_view unit_of(LabelShape form) {
  if (form == LabelShape::mask) return " pixels";
  return form == LabelShape::sequence ? " tokens" : "";
}

Lines report_classes(DataSet& data_set) {
  const DataSetInfo& info = data_set.info();
  Counts counts;
  // Pixels side by side are mostly of one class, so the last entry saves most look-ups. Iterators
  // of a map stay valid when entries are added.
  auto last = counts.of.end();
  const auto count = [&](std::int64_t, std::int64_t label) {
    // ignore_index may be the number of a class, too: then these samples are ignored, not counted.
    if (label == info.ignore_index) {
      ++counts.num_ignored;
      return;
    }
    if (last == counts.of.end() || last->first != label) last = counts.of.try_emplace(label).first;
    ++last->second;
  };
  with_label_type(info.columns.targets.front().dtype, [&](auto value) {
    counts.bad = for_each_allowed<decltype(value), std::int64_t>(data_set, count);
  });
  return count_lines(info, counts, unit_of(rules_of(info).label));
}

Lines report_flags(DataSet& data_set) {
  Counts counts;
  counts.bad = for_each_allowed<std::uint8_t>(data_set, [&](std::int64_t label, std::uint8_t flag) {
    if (flag == 1) ++counts.of[label];
    // Of the allowed values only ignore_index is above 1.
    if (flag > 1) ++counts.num_ignored;
  });
  return count_lines(data_set.info(), counts, " positive");
}

struct Summary {
  std::int64_t count = 0;
  float min = std::numeric_limits<float>::infinity();
  float max = -std::numeric_limits<float>::infinity();
  double sum = 0.0;  // of float32 in order of the samples: rounded, but always the same

  void add(float value) {
    ++count;
    min = std::min(min, value);
    max = std::max(max, value);
    sum += value;
  }
  std::string text() const {
    if (count == 0) return "no finite value";
    return format("min {}, mean {:.6g}, max {}", min, sum / static_cast<double>(count), max);
  }
};

Lines report_values(DataSet& data_set) {
  const DataSetInfo& info = data_set.info();
  const bool is_map = info.has_maps();
  // Outputs that are not shown need no summary, however many the file names.
  std::vector<Summary> summaries(to_size(std::min(info.num_classes, kMaxShown)));
  std::int64_t num_ignored = 0;  // pixels
  const BadValues bad = for_each_allowed<float>(data_set, [&](std::int64_t place, float value) {
    const std::int64_t output = is_map ? 0 : place;
    // NaN is allowed in maps alone, where it marks pixels that are not scored.
    if (std::isnan(value)) {
      ++num_ignored;
    } else if (std::cmp_less(output, summaries.size())) {
      summaries[to_size(output)].add(value);
    }
  });
  Lines lines{is_map ? format("targets: a map of {} per sample; {} pixels scored, {} not",
                              counted(info), summaries.front().count, num_ignored)
                     : format("targets: {} per sample", counted(info))};
  append_each(lines, info, [&](std::int64_t c) { return summaries[to_size(c)].text(); });
  append_bad(lines, bad, "targets that are not finite");
  return lines;
}

// Which tokens occur says little; how many are scored says what metrics are made of.
Lines report_sequences(DataSet& data_set) {
  const DataSetInfo& info = data_set.info();
  const ColumnInfo& label = info.columns.targets.front();
  std::int64_t scored = 0;
  BadValues bad;
  with_label_type(label.dtype, [&](auto type) {
    bad = for_each_allowed<decltype(type), std::int64_t>(
        data_set, [&](std::int64_t, std::int64_t token) { scored += token != info.ignore_index; });
  });
  Lines lines{format("tokens: {} scored, in {} places; {} kinds of them", scored,
                     label.num_rows * num_elements(label.row_shape), info.num_classes)};
  std::ranges::move(table_report(data_set), std::back_inserter(lines));
  append_bad(lines, bad, "labels out of range");
  return lines;
}

}  // namespace

Lines label_report(DataSet& data_set) {
  const TaskRules& rules = rules_of(data_set.info());
  const LabelShape form = rules.label;
  if (form == LabelShape::none) return table_report(data_set);
  if (form == LabelShape::values) return report_values(data_set);
  if (form == LabelShape::flags) return report_flags(data_set);
  if (has_vocabulary(rules)) return report_sequences(data_set);
  return report_classes(data_set);
}

}  // namespace tally::data
