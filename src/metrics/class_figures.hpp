// Per class: support, predictions, hits; precision, recall and F1 with their averages.
#pragma once

#include "family.hpp"

namespace tally::metrics {

FamilyEntry class_figures_family();

}  // namespace tally::metrics
