// Precision at the recall points: what one class gives.
#include <algorithm>
#include <limits>

#include <tally/base/checked_cast.hpp>
#include <tally/exchange/detection_precision.hpp>

namespace tally::exchange {

std::array<double, kNumRecallPoints> recall_points() {
  std::array<double, kNumRecallPoints> points{};
  const double step = 1.0 / (kNumRecallPoints - 1);
  for (int i = 0; i < kNumRecallPoints; ++i) points[to_size(i)] = i * step;
  return points;
}

std::array<double, kNumRecallPoints> precision_at_recalls(
    std::span<const metrics::DetectionRow> ranked, std::uint64_t verdict,
    std::int64_t num_objects) {
  constexpr double kSpacing = std::numeric_limits<double>::epsilon();  // numpy.spacing(1)
  std::vector<double> recalls, precisions;
  recalls.reserve(ranked.size());
  precisions.reserve(ranked.size());
  std::int64_t right = 0, wrong = 0;
  for (const auto& row : ranked) {
    right += (row.right & verdict) != 0 ? 1 : 0;
    wrong += (row.wrong & verdict) != 0 ? 1 : 0;
    recalls.push_back(static_cast<double>(right) / static_cast<double>(num_objects));
    precisions.push_back(static_cast<double>(right) /
                         (static_cast<double>(wrong) + static_cast<double>(right) + kSpacing));
  }
  for (std::size_t i = precisions.size(); i-- > 1;) {
    precisions[i - 1] = std::max(precisions[i - 1], precisions[i]);
  }
  std::array<double, kNumRecallPoints> found{};
  const auto points = recall_points();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto place = std::ranges::lower_bound(recalls, points[i]);
    if (place == recalls.end()) break;
    found[i] = precisions[to_size(place - recalls.begin())];
  }
  return found;
}

std::vector<int> owners_of_classes(std::span<const std::int64_t> rows_per_class, int num_ranks) {
  std::vector<std::size_t> classes(rows_per_class.size());
  for (std::size_t c = 0; c < classes.size(); ++c) classes[c] = c;
  std::ranges::stable_sort(classes, std::ranges::greater(),
                           [&](std::size_t c) { return rows_per_class[c]; });
  std::vector<std::int64_t> loads(to_size(num_ranks), 0);
  std::vector<int> owners(rows_per_class.size());
  for (const std::size_t c : classes) {
    const auto least = std::ranges::min_element(loads);
    owners[c] = static_cast<int>(least - loads.begin());
    *least += rows_per_class[c];
  }
  return owners;
}

}  // namespace tally::exchange
