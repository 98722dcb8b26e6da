// SPDX-License-Identifier: Apache-2.0
#include "families/confusion_matrix.hpp"

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/metrics/name_patterns.hpp>

#include "family_counters.hpp"

namespace tally::metrics {
namespace {

constexpr const char* kByTrue = "confusion_by_true";
constexpr const char* kByPredicted = "confusion_by_predicted";
constexpr const char* kByAll = "confusion_by_all";

using MatrixCounts = std::span<const std::int64_t>;

class Confusion : public Family {
 public:
  explicit Confusion(MetricOptions options) : options_(std::move(options)) {}

  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    matrix_ = layout.add_counters("confusion.matrix", num_tables() * classes() * classes());
    counters.confusion = {matrix_.offset, classes()};
  }

  void finalize(const exact::State& state, Results& results) const override {
    const MatrixCounts matrix = state.of(matrix_);
    results.confusion.assign(matrix.begin(), matrix.end());
    // Cell i is (table * side + row) * side + column; these say of which sum it is a share.
    const std::size_t side = to_size(classes());
    const std::size_t tables = to_size(num_tables());
    const auto row = [&](std::size_t i) { return i / side; };
    const auto column = [&](std::size_t i) { return i / (side * side) * side + i % side; };
    const auto table = [&](std::size_t i) { return i / (side * side); };
    append_shares(kByTrue, matrix, row, tables * side, results);
    append_shares(kByPredicted, matrix, column, tables * side, results);
    append_shares(kByAll, matrix, table, tables, results);
  }

 private:
  bool has_labels() const { return task_traits(options_.task).has_confusion_of_labels; }
  std::int64_t classes() const { return has_labels() ? 2 : options_.num_classes; }
  // Labels that are scored one by one have a table of two classes each.
  std::int64_t num_tables() const { return has_labels() ? options_.num_classes : 1; }

  // whole(i) says of which of `num_wholes` sums of cells cell i is a share. 0/0 counts as 0, as in
  // torchmetrics' normalize="true", "pred" and "all".
  template <class Whole>
  void append_shares(const char* name, MatrixCounts matrix, const Whole& whole,
                     std::size_t num_wholes, Results& results) const {
    if (!contains(options_.names, name)) return;
    std::vector<std::int64_t> wholes(num_wholes);
    for (std::size_t i = 0; i < matrix.size(); ++i) wholes[whole(i)] += matrix[i];
    std::vector<double> shares;
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      shares.push_back(Proportion{matrix[i], wholes[whole(i)]}.value().value_or(0.0));
    }
    results.confusion_shares.push_back({name, std::move(shares)});
  }

  MetricOptions options_;
  exact::StateSpan matrix_;
};

std::optional<std::string> too_many_classes(const MetricOptions& options, std::string_view) {
  // Tables of two classes are always small.
  // A table takes 8 bytes for each pair of classes, on every rank and once more on its GPU: 32 MiB
  // at the default bound of 2,048 classes.
  const bool is_large = task_traits(options.task).has_large_confusion;
  if (!is_large || options.num_classes <= options.confusion_max_classes) {
    return std::nullopt;
  }
  return format("is kept up to {} classes, the data set has {}", options.confusion_max_classes,
                options.num_classes);
}

}  // namespace

FamilyEntry confusion_family() {
  return {.metrics = {{.name = "confusion_matrix",
                       .definition = "counts by true class and prediction, in metrics.h5",
                       .is_table = true},
                      {.name = kByTrue,
                       .definition = "the same as shares of the true class, in metrics.h5",
                       .standard = false,
                       .is_table = true},
                      {.name = kByPredicted,
                       .definition = "the same as shares of the predicted class, in metrics.h5",
                       .standard = false,
                       .is_table = true},
                      {.name = kByAll,
                       .definition = "the same as shares of all samples, in metrics.h5",
                       .standard = false,
                       .is_table = true}},
          .make = [](const MetricOptions& options) -> std::unique_ptr<Family> {
            return std::make_unique<Confusion>(options);
          },
          .obstacle = too_many_classes};
}

}  // namespace tally::metrics
