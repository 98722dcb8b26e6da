#include "label_report.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>

#include "labels.hpp"
#include "pieces.hpp"
#include "refuse.hpp"

namespace tally::data {
namespace {

constexpr std::int64_t kMaxClassesShown = 20;
constexpr std::int64_t kMaxBadShown = 10;

struct LabelCounts {
  std::map<std::int64_t, std::int64_t> of_class;  // only classes that occur: C may be 2^31
  std::int64_t ignored = 0;
  std::int64_t bad = 0;
  std::vector<std::string> first_bad;
};

void count(const DataSetInfo& info, std::int64_t index, std::int64_t label, LabelCounts& counts) {
  if (info.ignore_index == label) {
    ++counts.ignored;
  } else if (in_range(info, label)) {
    ++counts.of_class[label];
  } else if (counts.bad++ < kMaxBadShown) {
    counts.first_bad.push_back(
        format("  /targets/label[{}] = {}, expected {}", index, label, expected_labels(info)));
  }
}

LabelCounts count_labels(DataSet& data_set) {
  const DataSetInfo& info = data_set.info();
  LabelCounts counts;
  for_each_piece(data_set, info.targets.front(), 1,
                 [&](std::int64_t first, std::span<const std::byte> bytes) {
                   std::vector<std::int64_t> labels(bytes.size() / sizeof(std::int64_t));
                   std::memcpy(labels.data(), bytes.data(), bytes.size());
                   for (std::size_t i = 0; i < labels.size(); ++i) {
                     count(info, first + static_cast<std::int64_t>(i), labels[i], counts);
                   }
                 });
  return counts;
}

std::string class_text(const DataSetInfo& info, std::int64_t index) {
  if (info.class_names.empty()) return format("class {}", index);
  return format("class {} '{}'", index, shown(info.class_names[to_size(index)]));
}

std::string summary(const DataSetInfo& info, const LabelCounts& counts) {
  const auto& occurring = counts.of_class;
  std::string text = format("labels: {} of {} classes occur", occurring.size(), info.num_classes);
  if (!occurring.empty()) {
    const auto [least, most] =
        std::ranges::minmax_element(occurring, {}, [](const auto& entry) { return entry.second; });
    text += format("; of these fewest {} ({}), most {} ({})", least->second,
                   class_text(info, least->first), most->second, class_text(info, most->first));
  }
  return counts.ignored == 0 ? text : format("{}; {} ignored", text, counts.ignored);
}

}  // namespace

std::vector<std::string> label_report(DataSet& data_set) {
  const DataSetInfo& info = data_set.info();
  const LabelCounts counts = count_labels(data_set);
  std::vector<std::string> lines{summary(info, counts)};
  const std::int64_t num_shown = std::min(info.num_classes, kMaxClassesShown);
  for (std::int64_t c = 0; c < num_shown; ++c) {
    const auto found = counts.of_class.find(c);
    lines.push_back(format("  {}: {}", class_text(info, c),
                           found == counts.of_class.end() ? 0 : found->second));
  }
  if (num_shown < info.num_classes) {
    lines.push_back(format("  … and {} more classes", info.num_classes - num_shown));
  }
  if (counts.bad == 0) return lines;
  lines.push_back(format("labels out of range: {}", counts.bad));
  lines.insert(lines.end(), counts.first_bad.begin(), counts.first_bad.end());
  if (counts.bad > kMaxBadShown) {
    lines.push_back(format("  … and {} more", counts.bad - kMaxBadShown));
  }
  return lines;
}

}  // namespace tally::data
