#include "confusion.hpp"

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/metrics/names.hpp>

#include "row_counters.hpp"

namespace tally::metrics {
namespace {

constexpr const char* kByTrue = "confusion_by_true";
constexpr const char* kByPredicted = "confusion_by_predicted";
constexpr const char* kByAll = "confusion_by_all";

using Counts = std::span<const std::int64_t>;

class Confusion : public Family {
 public:
  explicit Confusion(MetricOptions options) : options_(std::move(options)) {}

  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    const std::int64_t classes = options_.num_classes;
    matrix_ = layout.add_counters("confusion.matrix", classes * classes);
    counters.confusion = {matrix_.offset, classes};
  }

  void finalize(const exact::State& state, Results& results) const override {
    const Counts matrix = state.of(matrix_);
    results.confusion.assign(matrix.begin(), matrix.end());
    const auto classes = to_size(options_.num_classes);
    std::vector<std::int64_t> rows(classes), columns(classes);
    std::int64_t all = 0;
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      rows[i / classes] += matrix[i];
      columns[i % classes] += matrix[i];
      all += matrix[i];
    }
    append_shares(
        kByTrue, matrix, [&](std::size_t i) { return rows[i / classes]; }, results);
    append_shares(
        kByPredicted, matrix, [&](std::size_t i) { return columns[i % classes]; }, results);
    append_shares(
        kByAll, matrix, [&](std::size_t) { return all; }, results);
  }

 private:
  template <class Whole>
  void append_shares(const char* name, Counts matrix, const Whole& whole, Results& results) const {
    if (!contains(options_.names, name)) return;
    std::vector<double> shares;
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      shares.push_back(Proportion{matrix[i], whole(i)}.value().value_or(0.0));
    }
    results.confusion_shares.push_back({name, std::move(shares)});
  }

  MetricOptions options_;
  exact::StateSpan matrix_;
};

std::optional<std::string> too_many_classes(const MetricOptions& options, std::string_view) {
  if (options.num_classes <= options.confusion_max_classes) return std::nullopt;
  return format("is kept up to {} classes, the data set has {}", options.confusion_max_classes,
                options.num_classes);
}

}  // namespace

FamilyEntry confusion_family() {
  return {.metrics = {{.name = "confusion_matrix",
                       .definition = "counts by true class and prediction, in metrics.h5"},
                      {.name = kByTrue,
                       .definition = "the same as shares of the true class, in metrics.h5",
                       .standard = false},
                      {.name = kByPredicted,
                       .definition = "the same as shares of the predicted class, in metrics.h5",
                       .standard = false},
                      {.name = kByAll,
                       .definition = "the same as shares of all samples, in metrics.h5",
                       .standard = false}},
          .make = [](const MetricOptions& options) -> std::unique_ptr<Family> {
            return std::make_unique<Confusion>(options);
          },
          .obstacle = too_many_classes};
}

}  // namespace tally::metrics
