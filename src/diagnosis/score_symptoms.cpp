// SPDX-License-Identifier: Apache-2.0
#include <tally/base/format.hpp>
#include <tally/base/task_traits.hpp>

#include "symptom_rules.hpp"

namespace tally::diagnosis {
namespace {

constexpr std::int64_t kFewestScores = 16;  // scores that lie within 0 and 1
constexpr std::int64_t kFewestRows = 4;

// Logits of many samples hardly ever add up to 1 for each, or all lie within 0 and 1 where each
// stands alone.
bool look_like_probabilities(const Evidence& evidence, const ScoreStatistics& scores) {
  const bool is_multiclass = is_task(evidence.task, TaskKind::multiclass);
  const bool stand_alone =
      is_task(evidence.task, TaskKind::binary) || is_task(evidence.task, TaskKind::multilabel);
  if (!scores.are_within_0_and_1 || scores.num_samples < kFewestRows) return false;
  if (scores.num_samples * scores.num_values < kFewestScores) return false;
  return (is_multiclass && scores.num_values > 1 && scores.add_up_to_1) || stand_alone;
}

}  // namespace

void look_at_scores(const Evidence& evidence, Symptoms& found) {
  if (!evidence.first_batch || !evidence.first_batch->scores) return;
  const ScoreStatistics& scores = *evidence.first_batch->scores;
  if (scores.are_the_same && scores.num_samples >= kFewestRows &&
      !evidence.first_batch->inputs_are_the_same) {
    found.push_back(
        {"constant_outputs",
         format("The model gives the same scores for all {} samples of the first batch, "
                "which differ: does it use its inputs, and are its weights loaded?",
                scores.num_samples)});
  } else if (evidence.outputs == metrics::OutputKind::logits &&
             look_like_probabilities(evidence, scores)) {
    found.push_back({"probabilities_as_logits",
                     "The scores of the first batch look like probabilities, and are taken as "
                     "logits: if the model ends in a softmax or sigmoid, give --outputs "
                     "probabilities"});
  }
}

}  // namespace tally::diagnosis
