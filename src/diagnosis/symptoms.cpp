// SPDX-License-Identifier: Apache-2.0
#include <tally/diagnosis/symptoms.hpp>

#include <tally/base/format.hpp>

#include "symptom_rules.hpp"

namespace tally::diagnosis {

std::string percent(double share) { return format("{:.4g} %", 100 * share); }

std::vector<Symptom> find_symptoms(const Evidence& evidence) {
  Symptoms found;
  look_at_accuracy(evidence, found);
  look_at_predictions(evidence, found);
  look_at_scores(evidence, found);
  look_at_images(evidence, found);
  return found;
}

}  // namespace tally::diagnosis
