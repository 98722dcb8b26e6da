#include "confusion.hpp"

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>

#include "row_counters.hpp"

namespace tally::metrics {
namespace {

class Confusion : public Family {
 public:
  explicit Confusion(std::int64_t num_classes) : num_classes_(num_classes) {}

  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    matrix_ = layout.add_counters("confusion.matrix", num_classes_ * num_classes_);
    counters.confusion = {matrix_.offset, num_classes_};
  }

  void finalize(const exact::State& state, Results& results) const override {
    const auto matrix = state.of(matrix_);
    results.confusion.assign(matrix.begin(), matrix.end());
  }

 private:
  std::int64_t num_classes_;
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
                       .definition = "counts by true class and prediction, in metrics.h5"}},
          .make = [](const MetricOptions& options) -> std::unique_ptr<Family> {
            return std::make_unique<Confusion>(options.num_classes);
          },
          .obstacle = too_many_classes};
}

}  // namespace tally::metrics
