#include "curves.hpp"

namespace tally::metrics {
namespace {

class NothingCounted : public Family {
 public:
  void declare(exact::StateLayout&, RowCounters&) override {}
  void finalize(const exact::State&, Results&) const override {}
};

}  // namespace

FamilyEntry class_curves_family() {
  return {
      .metrics = {{.name = "auroc_macro",
                   .definition = "mean area under the classes' ROC curves, one against the rest",
                   .standard = false,
                   .needs_order = true},
                  {.name = "auroc_weighted",
                   .definition = "the same mean, by support",
                   .standard = false,
                   .needs_order = true},
                  {.name = "average_precision_macro",
                   .definition = "mean of the classes' average precision, one against the rest",
                   .standard = false,
                   .needs_order = true},
                  {.name = "average_precision_weighted",
                   .definition = "the same mean, by support",
                   .standard = false,
                   .needs_order = true}},
      .make = [](const MetricOptions&) -> std::unique_ptr<Family> {
        return std::make_unique<NothingCounted>();
      }};
}

}  // namespace tally::metrics
