#include "registry.hpp"

#include "accuracy.hpp"
#include "class_figures.hpp"
#include "confusion.hpp"
#include "coverage.hpp"
#include "loss.hpp"
#include "top_k.hpp"

namespace tally::metrics {

std::vector<FamilyEntry> multiclass_families() {
  return {
      coverage_family(),  // first: the others divide by its counts
      accuracy_family(), top_k_family(), loss_family(), class_figures_family(), confusion_family(),
  };
}

}  // namespace tally::metrics
