#include <tally/ordered_metrics/local_spearman.hpp>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/ordered_metrics/pair_values.hpp>
#include <tally/ordered_metrics/ranked_column.hpp>
#include <tally/ordered_metrics/spearman_partials.hpp>

namespace tally::ordered_metrics {
namespace {

// One output.
struct Output {
  Output(const PairValues& values, std::int64_t first_index)
      : predictions(values.predictions), targets(values.targets) {
    for (const std::int64_t index : values.index) rows.push_back(to_size(index - first_index));
  }

  RankedColumn predictions, targets;
  std::vector<std::size_t> rows;  // of each value
};

}  // namespace

struct LocalSpearman::Impl {
  std::size_t num_rows = 0;
  std::vector<Output> outputs;
};

LocalSpearman::LocalSpearman(const PairRows& rows) : impl_(std::make_unique<Impl>()) {
  impl_->num_rows = to_size(rows.num_rows);
  for (const PairValues& values : read_outputs(rows, 0, rows.num_outputs)) {
    impl_->outputs.emplace_back(values, rows.first_index);
  }
}
LocalSpearman::~LocalSpearman() = default;
LocalSpearman::LocalSpearman(LocalSpearman&&) noexcept = default;

std::vector<SpearmanSums> LocalSpearman::sum(metrics::RowWeights weights) const {
  if (!weights.empty() && weights.size() != impl_->num_rows) {
    throw Error(ErrorKind::internal, "ranks need one weight a row");
  }
  std::vector<SpearmanSums> sums;
  for (const Output& output : impl_->outputs) {
    Weights of_values(output.rows.size(), 1);
    for (std::size_t i = 0; i < of_values.size() && !weights.empty(); ++i) {
      of_values[i] = weights[output.rows[i]];
    }
    const auto predictions = output.predictions.centred_ranks(of_values);
    const auto targets = output.targets.centred_ranks(of_values);
    sums.push_back(spearman_partials(of_values, predictions, targets));
  }
  return sums;
}

}  // namespace tally::ordered_metrics
