#include <tally/ordered_metrics/pair_values.hpp>

#include <algorithm>
#include <cmath>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally::ordered_metrics {
namespace {

constexpr std::int64_t kWindowElements = std::int64_t{1} << 20;  // 8 MiB of both

}  // namespace

std::vector<PairValues> read_outputs(const PairRows& rows, std::int64_t first, std::int64_t count) {
  std::vector<PairValues> outputs(to_size(count));
  const std::int64_t max_rows = std::max<std::int64_t>(1, kWindowElements / rows.num_outputs);
  std::vector<float> predictions;
  std::vector<float> targets;
  for (std::int64_t row = 0; row < rows.num_rows; row += max_rows) {
    const std::int64_t num_rows = std::min(max_rows, rows.num_rows - row);
    predictions.resize(to_size(num_rows * rows.num_outputs));
    targets.resize(predictions.size());
    rows.read(row, num_rows, predictions, targets);
    for (std::int64_t i = 0; i < num_rows; ++i) {
      const std::int64_t index = rows.first_index + row + i;
      for (std::int64_t output = 0; output < count; ++output) {
        const auto at = to_size(i * rows.num_outputs + first + output);
        if (std::isnan(targets[at])) continue;
        if (std::isnan(predictions[at])) {
          throw Error(ErrorKind::numeric,
                      format("output {} of sample {} is NaN", first + output, index),
                      "Ranks need values that can be compared.");
        }
        PairValues& values = outputs[to_size(output)];
        values.predictions.push_back(predictions[at]);
        values.targets.push_back(targets[at]);
        values.index.push_back(index);
      }
    }
  }
  return outputs;
}

}  // namespace tally::ordered_metrics
