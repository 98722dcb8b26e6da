// SPDX-License-Identifier: Apache-2.0
#include "detection_scores.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <tally/aggregate/matched_detections.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/comm/agree.hpp>
#include <tally/session/local_result.hpp>

namespace tally::app {
namespace {

// Collective. Returns the detections of this rank's images. `held` has those of all images on rank
// 0, by image, and is empty on other ranks.
std::vector<SavedDetection> share_detections(const comm::Communicator& comm,
                                             const plan::BatchGrid& grid,
                                             const std::vector<SavedDetection>& held) {
  const std::span<const SavedDetection> all(held);
  std::vector<std::int64_t> counts;
  // Slices follow one another in rank order, as detections do, so that each rank gets one run of
  // them. Those of images behind the last one that is evaluated (--limit) go to no rank.
  std::size_t num_sent = 0;
  for (int rank = 0; rank < comm.world_size(); ++rank) {
    const auto samples = grid.samples_of(grid.slice_of(rank, comm.world_size()));
    const auto end = std::ranges::lower_bound(all, samples.end(), {}, &SavedDetection::image);
    const auto until = std::max(num_sent, to_size(end - all.begin()));
    counts.push_back(std::ssize(all.subspan(num_sent, until - num_sent)));
    num_sent = until;
  }
  const auto bytes =
      comm.all_to_all_rows(std::as_bytes(all.first(num_sent)), sizeof(SavedDetection), counts);
  std::vector<SavedDetection> local;
  comm::agree_on(comm, [&] {
    local.resize(bytes.size() / sizeof(SavedDetection));
    if (!bytes.empty()) std::memcpy(local.data(), bytes.data(), bytes.size());
  });
  return local;
}

class DetectionScores final : public ScoreSource {
 public:
  explicit DetectionScores(SavedDetections saved) : saved_(std::move(saved)) {}

  bool runs_predictor() const override { return false; }

  // Nothing is computed here: images are counted as evidence, and complete() matches their
  // detections.
  LocalSamples score(const EvaluationSession& session, LoopObserver& observer) override {
    LocalSamples result = empty_samples(session, {}, {});
    const auto& grid = *session.plan.grid;
    const auto& slice = session.plan.slice;
    for (std::int64_t batch = slice.first; batch < slice.end(); ++batch) {
      const plan::SampleRange images = grid.samples_of(batch);
      for (std::int64_t image = images.first; image < images.end(); ++image) {
        const metrics::SampleRecord row{static_cast<std::uint64_t>(image)};
        session.scoring.capabilities().detections->count(std::span(&row, 1), result.state);
      }
      result.loop.stats.samples += images.count;
      observer.batch_done(result.loop.stats.samples, result.state);
    }
    return result;
  }

  LocalUnits complete(const comm::Communicator& comm, const EvaluationSession& session,
                      LocalSamples samples) override {
    // The temporary frees the detections of all images before matching takes memory of its own.
    const auto local = share_detections(comm, *session.plan.grid, std::exchange(saved_.all, {}));
    return match_detections(comm, session, std::move(samples), &local);
  }

  std::optional<report::IdMatch> match_ids(const comm::Communicator& /*comm*/,
                                           const EvaluationSession& /*session*/,
                                           Notes& /*notes*/) override {
    return saved_.ids;
  }

 private:
  SavedDetections saved_;
};

}  // namespace

std::unique_ptr<ScoreSource> detection_scores(SavedDetections saved) {
  return std::make_unique<DetectionScores>(std::move(saved));
}

}  // namespace tally::app
