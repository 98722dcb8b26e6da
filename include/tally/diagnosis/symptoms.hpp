// SPDX-License-Identifier: Apache-2.0
// Finds in the metrics of a run, and in its first batch, the symptoms of common mistakes: labels
// numbered otherwise, scores taken for what they are not, images normalised otherwise. A symptom
// changes no metric. What is told is meant to be rare: a good model on a good data set has none.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/image_recipe.hpp>
#include <tally/diagnosis/first_batch.hpp>
#include <tally/diagnosis/pixel_sums.hpp>
#include <tally/metrics/output_kind_and_conventions.hpp>
#include <tally/metrics/results.hpp>

namespace tally::diagnosis {

struct Symptom {
  std::string code;  // "labels_shifted", for programs (docs/formats.md)
  std::string text;  // one sentence or two: what was seen, and the next step
};

// What symptoms are looked for in.
struct Evidence {
  std::string_view task;
  const metrics::Results& results;
  metrics::OutputKind outputs = metrics::OutputKind::logits;
  std::optional<FirstBatch> first_batch;
  std::optional<ImageStatistics> images;  // of bytes that a data set stores
  // How images are normalised, and in which order a data set stores their channels.
  std::optional<ImageNumbers> normalisation;
  std::string stored_channels;
  bool is_of_card = false;  // the model's card says so, and not the data set alone
};

// In a fixed order, the same for any number of ranks.
std::vector<Symptom> find_symptoms(const Evidence& evidence);

}  // namespace tally::diagnosis
