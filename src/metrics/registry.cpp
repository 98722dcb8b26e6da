#include "registry.hpp"

#include <algorithm>
#include <array>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "agreement.hpp"
#include "calibration.hpp"
#include "class_figures.hpp"
#include "confusion.hpp"
#include "coverage.hpp"
#include "curves.hpp"
#include "loss.hpp"
#include "regression.hpp"
#include "top_k.hpp"

namespace tally::metrics {
namespace {

std::vector<FamilyEntry> multiclass_families() {
  return {
      coverage_family(),  // first: the others divide by its counts
      top_k_family(),       loss_family(),         class_figures_family(),
      agreement_family(),  // needs the counts per class
      calibration_family(), class_curves_family(), confusion_family(),
  };
}

std::vector<FamilyEntry> regression_families() {
  return {coverage_family(), regression_family(), rank_correlation_family()};
}

struct Entry {
  std::string_view task;
  std::vector<FamilyEntry> (*families)();
};
constexpr std::array kTasks{
    Entry{"multiclass", multiclass_families},
    Entry{"regression", regression_families},
};

}  // namespace

std::vector<FamilyEntry> families_of(std::string_view task) {
  std::vector<std::string_view> known;
  for (const Entry& entry : kTasks) {
    if (entry.task == task) return entry.families();
    known.push_back(entry.task);
  }
  throw Error(ErrorKind::usage,
              format("task '{}' has no metrics, expected one of {}", task, fmt::join(known, ", ")));
}

}  // namespace tally::metrics
