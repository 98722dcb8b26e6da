// SPDX-License-Identifier: Apache-2.0
// The rules of find_symptoms(), by what they look at. Each appends what it finds.
#pragma once

#include <string>
#include <vector>

#include <tally/diagnosis/symptoms.hpp>

namespace tally::diagnosis {

using Symptoms = std::vector<Symptom>;

// Accuracy no better than chance, and labels that are numbered otherwise: by the counts of each
// class and the confusion matrix of a task with one label for each sample or pixel.
void look_at_accuracy(const Evidence& evidence, Symptoms& found);
// Nearly all predictions in one class, and labels that are all predicted for all samples.
void look_at_predictions(const Evidence& evidence, Symptoms& found);
// Scores of the first batch: probabilities that are taken for logits, constants.
void look_at_scores(const Evidence& evidence, Symptoms& found);
// Images of the first batch beside their normalisation.
void look_at_images(const Evidence& evidence, Symptoms& found);

// "97.5 %"
std::string percent(double share);

}  // namespace tally::diagnosis
