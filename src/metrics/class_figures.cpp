#include "class_figures.hpp"

#include <tally/base/checked_cast.hpp>

#include "row_counters.hpp"

namespace tally::metrics {
namespace {

// part/whole for one class: hits over predictions, over support, or over their mean.
struct Fraction {
  std::int64_t part = 0;
  std::int64_t whole = 0;
};
using Score = Fraction (*)(const ClassFigures&);

Fraction precision(const ClassFigures& figures) { return {figures.correct, figures.predicted}; }
Fraction recall(const ClassFigures& figures) { return {figures.correct, figures.support}; }
Fraction f1(const ClassFigures& figures) {
  return {2 * figures.correct, figures.predicted + figures.support};
}

std::optional<double> defined(Fraction fraction) { return ratio(fraction.part, fraction.whole); }

// torchmetrics 1.9.0: 0/0 counts as 0; a class that is neither a label nor a prediction is left
// out.
std::optional<double> macro(const std::vector<ClassFigures>& classes, Score score) {
  double sum = 0;
  std::int64_t present = 0;
  for (const ClassFigures& figures : classes) {
    if (figures.support + figures.predicted == 0) continue;
    sum += defined(score(figures)).value_or(0.0);
    ++present;
  }
  if (present == 0) return std::nullopt;
  return sum / static_cast<double>(present);
}

std::optional<double> micro(const std::vector<ClassFigures>& classes, Score score) {
  Fraction total;
  for (const ClassFigures& figures : classes) {
    const Fraction fraction = score(figures);
    total.part += fraction.part;
    total.whole += fraction.whole;
  }
  return defined(total);
}

std::optional<double> weighted(const std::vector<ClassFigures>& classes, Score score) {
  double sum = 0;
  std::int64_t samples = 0;
  for (const ClassFigures& figures : classes) {
    sum += static_cast<double>(figures.support) * defined(score(figures)).value_or(0.0);
    samples += figures.support;
  }
  if (samples == 0) return std::nullopt;
  return sum / static_cast<double>(samples);
}

class ClassCounts : public Family {
 public:
  explicit ClassCounts(std::int64_t num_classes) : num_classes_(num_classes) {}

  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    correct_ = layout.add_counters("classes.correct", num_classes_);
    predicted_ = layout.add_counters("classes.predicted", num_classes_);
    support_ = layout.add_counters("classes.support", num_classes_);
    counters.classes = {support_.offset, predicted_.offset, correct_.offset};
  }

  void finalize(const exact::State& state, Results& results) const override {
    results.per_class.clear();
    for (std::int64_t index = 0; index < num_classes_; ++index) {
      ClassFigures figures;
      figures.index = index;
      figures.support = state.of(support_)[to_size(index)];
      figures.predicted = state.of(predicted_)[to_size(index)];
      figures.correct = state.of(correct_)[to_size(index)];
      figures.precision = defined(precision(figures));
      figures.recall = defined(recall(figures));
      figures.f1 = defined(f1(figures));
      results.per_class.push_back(figures);
    }
    append("precision", precision, results);
    append("recall", recall, results);
    append("f1", f1, results);
  }

 private:
  static void append(const std::string& name, Score score, Results& results) {
    results.metrics.push_back({name + "_macro", macro(results.per_class, score)});
    results.metrics.push_back({name + "_micro", micro(results.per_class, score)});
    results.metrics.push_back({name + "_weighted", weighted(results.per_class, score)});
  }

  std::int64_t num_classes_;
  exact::StateSpan correct_, predicted_, support_;
};

}  // namespace

FamilyEntry class_figures_family() {
  return {.metrics = {{"precision_macro", "mean of the classes' precision"},
                      {"precision_micro", "right predictions over all predictions"},
                      {"precision_weighted", "mean of the classes' precision, by support"},
                      {"recall_macro", "mean of the classes' recall"},
                      {"recall_micro", "right predictions over all labels"},
                      {"recall_weighted", "mean of the classes' recall, by support"},
                      {"f1_macro", "mean of the classes' F1"},
                      {"f1_micro", "F1 of the summed counts"},
                      {"f1_weighted", "mean of the classes' F1, by support"}},
          .kept = Kept::always,
          .make = [](const MetricOptions& options) -> std::unique_ptr<Family> {
            return std::make_unique<ClassCounts>(options.num_classes);
          }};
}

}  // namespace tally::metrics
