// SPDX-License-Identifier: Apache-2.0
#include "progress_keeper.hpp"

#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/interrupt.hpp>
#include <tally/comm/notices.hpp>
#include <tally/session/local_result.hpp>
#include <tally/trace/span_recording.hpp>

namespace tally::app {

using Folder = resume::ProgressWriter::Folder;

ProgressKeeper::ProgressKeeper(const comm::Communicator& comm, const EvaluationSession& session,
                               const RunFacts& facts, LoopObserver& inner)
    : comm_(comm),
      session_(session),
      inner_(inner),
      identity_(to_text(facts)),
      is_sorted_(session.plan.grid->batches_per_block() > 1),
      writer_(progress_folder(session), {session.attempt, comm.rank()},
              {loop_columns(session), session.scoring.task->sample_columns()},
              comm.is_root() ? Folder::created : Folder::expected) {
  if (!comm.is_root()) return;
  try {
    writer_.create_folder();
  } catch (const Error& error) {
    failure_ = error;
  }
}

void ProgressKeeper::range_begins(plan::BatchRange batches, const LocalSamples& before) {
  inner_.range_begins(batches, before);
  end_range();
  before_ = &before;
  range_ = batches;
  base_ = point_of(before);
}

void ProgressKeeper::end_range() {
  if (before_ == nullptr) return;
  const auto samples = session_.plan.grid->samples_of(range_);
  done_.push_back(range_);
  not_appended_.push_back({samples.first + appended_, samples.count - appended_});
  appended_ = 0;
  done_in_range_ = 0;
  point_.reset();
  before_ = nullptr;
}

void ProgressKeeper::batch_done(std::int64_t samples_done, const exact::State& state) {
  inner_.batch_done(samples_done, state);
  // Where samples are sorted, a block has many batches: the loop does not wait for its end.
  if (is_sorted_ && session_.hardware.device.kind == DeviceKind::cpu && is_to_stop()) stop(point_);
}

void ProgressKeeper::blocks_done(const evaluate::LoopStats& stats, const exact::State& state) {
  done_in_range_ = stats.samples;
  const bool stops = is_to_stop();
  const bool keeps = is_due();
  if (!stops && !keeps && !is_sorted_) return;
  auto point = point_at(stats, state);
  if (stops) stop(point);
  if (keeps) keep(point, *before_, When::later);
  if (is_sorted_) point_ = std::move(point);
}

bool ProgressKeeper::wants_whole_blocks() { return is_to_stop() || is_due(); }

bool ProgressKeeper::is_to_stop() {
  if (comm::has_notice(comm_, comm::Notice::failed)) throw comm::PeerFailed{};
  if (asked_to_stop()) comm::send_notice(comm_, comm::Notice::stop);
  return asked_to_stop() || comm::has_notice(comm_, comm::Notice::stop);
}

bool ProgressKeeper::is_due() {
  const double interval_s = session_.config.files.checkpoint_every_s;
  return interval_s > 0 && !failure_ && since_kept_.elapsed_s() >= interval_s && !writer_.is_busy();
}

ProgressKeeper::Point ProgressKeeper::point_of(const LocalSamples& samples) {
  return {.samples = 0,
          .state = samples.state,
          .observations = {.not_finite = samples.loop.stats.not_finite,
                           .pixels = samples.loop.stats.pixels,
                           .first_batch = samples.loop.first_batch}};
}

ProgressKeeper::Point ProgressKeeper::point_at(const evaluate::LoopStats& stats,
                                               const exact::State& state) const {
  Point point = *base_;
  point.samples = stats.samples;
  point.state.merge(state);
  point.observations.not_finite.merge(stats.not_finite);
  point.observations.pixels.merge(stats.pixels);
  point.observations.first_batch = before_->loop.first_batch;
  return point;
}

// Blocks are whole, so that only the last batch of the data set has fewer samples than the others.
plan::BatchRange ProgressKeeper::batches_up_to(std::int64_t samples) const {
  const auto size = session_.plan.grid->batch_size();
  return {range_.first, samples / size + (samples % size != 0 ? 1 : 0)};
}

void ProgressKeeper::append_records(std::int64_t samples, const LocalSamples& logs) {
  const auto append = [&](plan::SampleRange range) {
    if (range.count == 0) return;
    writer_.append(range, logs.log, logs.retained, range.first - logs.first_index);
  };
  for (const auto& range : std::exchange(not_appended_, {})) append(range);
  const auto first = session_.plan.grid->samples_of(range_).first;
  append({first + appended_, samples - appended_});
  appended_ = samples;
}

// That a disk is full ends no run whose result may still find room.
void ProgressKeeper::keep(const Point& point, const LocalSamples& logs, When when) {
  const trace::Span span(trace::Kind::step, "keep_progress");
  has_kept_ = true;
  try {
    append_records(point.samples, logs);
    resume::Progress progress{.part = {},
                              .world_size = comm_.world_size(),
                              .identity = identity_,
                              .observations = to_text(point.observations),
                              .done = done_,
                              .state = {}};
    if (point.samples > 0) progress.done.push_back(batches_up_to(point.samples));
    const auto values = point.state.values();
    progress.state.assign(values.begin(), values.end());
    if (when == When::now) {
      writer_.write_now(std::move(progress));
    } else {
      writer_.write_later(std::move(progress));
    }
  } catch (const Error& error) {
    failure_ = error;
  }
  since_kept_ = {};
}

void ProgressKeeper::stop(const std::optional<Point>& point) {
  const bool any = point || !done_.empty();
  if (any && !failure_) keep(point ? *point : *base_, *before_, When::now);
  done_in_range_ = point ? point->samples : 0;
  throw StopRequested{};
}

void ProgressKeeper::ranges_end(const LocalSamples& all) {
  inner_.ranges_end(all);
  if (before_ == nullptr) return;
  end_range();
  range_ = {};
  base_ = point_of(all);
}

void ProgressKeeper::keep_all(const LocalSamples& all, bool always) {
  const bool any = always || session_.resumption || has_kept_;
  if (done_.empty() || !any || failure_) return;
  keep(*base_, all, When::now);
}

std::int64_t ProgressKeeper::num_samples() const {
  std::int64_t samples = done_in_range_;
  for (const auto& range : done_) samples += session_.plan.grid->samples_of(range).count;
  return samples;
}

}  // namespace tally::app
