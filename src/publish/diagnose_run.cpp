// SPDX-License-Identifier: Apache-2.0
#include "diagnose_run.hpp"

#include <vector>

#include <tally/diagnosis/symptoms.hpp>

namespace tally::app {
namespace {

// Collective. The pixels that all ranks looked at.
diagnosis::PixelSums over_ranks(const comm::Communicator& comm, const diagnosis::PixelSums& local) {
  diagnosis::PixelSums all = local;
  std::vector<std::int64_t> sums{local.num_images};
  for (const auto& one : local.channels) {
    sums.insert(sums.end(), {one.sum, one.squares, one.image_squares});
  }
  comm.sum_in_place(sums);
  all.num_images = sums[0];
  for (std::size_t c = 0; c < all.channels.size(); ++c) {
    all.channels[c] = {sums[1 + 3 * c], sums[2 + 3 * c], sums[3 + 3 * c]};
  }
  all.num_channels = comm.max(local.num_channels);
  all.pixels_per_image = comm.max(local.pixels_per_image);
  all.largest = comm.max(local.largest);
  all.smallest = -comm.max(-local.smallest);
  return all;
}

}  // namespace

void diagnose_run(const comm::Communicator& comm, const EvaluationSession& session,
                  const LocalUnits& local, report::RunReport& report) {
  const auto pixels = over_ranks(comm, local.loop.stats.pixels);
  if (!comm.is_root()) return;
  diagnosis::Evidence evidence{.task = report.metrics.task,
                               .results = report.metrics.results,
                               .outputs = session.scoring.outputs,
                               .first_batch = local.loop.first_batch,
                               .images = pixels.statistics(),
                               .normalisation = {},
                               .stored_channels = {}};
  const auto& card = session.model.predictor->card();
  evidence.is_of_card = card && card->normalisation;
  if (evidence.is_of_card) {
    const auto& own = *card->normalisation;
    evidence.normalisation = ImageNumbers{own.channels, own.scale, own.mean, own.std};
  }
  if (const auto& recipes = report.inputs.recipes; recipes && recipes->data.numbers) {
    evidence.stored_channels = recipes->data.numbers->channels;
    if (!evidence.is_of_card) evidence.normalisation = recipes->data.numbers;
  }
  for (auto& symptom : diagnosis::find_symptoms(evidence)) {
    report.diagnosis.push_back({std::move(symptom.code), std::move(symptom.text)});
  }
}

}  // namespace tally::app
