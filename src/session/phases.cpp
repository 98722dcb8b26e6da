// SPDX-License-Identifier: Apache-2.0
#include <tally/session/phases.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/clock.hpp>
#include <tally/base/current_work.hpp>

namespace tally::app {
namespace {

// Collective. Gathers as many values from every rank, rank after rank, on rank 0.
std::vector<double> gather_values(const comm::Communicator& comm,
                                  const std::vector<double>& values) {
  const std::vector<std::int64_t> one_row_each(to_size(comm.world_size()), 1);
  std::vector<double> all(comm.is_root() ? values.size() * to_size(comm.world_size()) : 0);
  comm.gather_rows(std::as_bytes(std::span(values)),
                   checked_cast<std::int64_t>(values.size() * sizeof(double)), one_row_each,
                   std::as_writable_bytes(std::span(all)));
  return all;
}

constexpr std::array<std::pair<std::string_view, const char*>, 14> kStepsBehind{{
    {"settings", "open_data"},
    {"open_data", "load_model"},
    {"load_model", "warm_up"},
    {"read_predictions", "warm_up"},
    {"warm_up", "start_reducer"},
    {"start_reducer", "create_output"},
    {"stage", "create_output"},
    {"load_weights", "create_output"},
    {"create_output", "evaluate"},
    {"evaluate", "wait_for_ranks"},
    {"wait_for_ranks", "reduce"},
    {"reduce", "count_again"},
    {"count_again", "gather"},
    {"gather", "publish"},
}};

}  // namespace

const char* step_behind(std::string_view step) {
  const auto* const found =
      std::ranges::find(kStepsBehind, step, &std::pair<std::string_view, const char*>::first);
  return found == kStepsBehind.end() ? nullptr : found->second;
}

Phases::Phases() : begin_ns_(now_ns()) { begin_phase("settings"); }

double Phases::Step::seconds() const { return static_cast<double>(end_ns - begin_ns) * 1e-9; }

void Phases::lap(std::string name) {
  if (const char* next = step_behind(name)) begin_phase(next);
  const std::int64_t end_ns = now_ns();
  steps_.push_back({std::move(name), begin_ns_, end_ns});
  begin_ns_ = end_ns;
}

void Phases::add(std::string name, double seconds) {
  // The step ends where the step that is under way begins, so that the two do not overlap in a
  // trace.
  const std::int64_t took_ns = std::llround(seconds * 1e9);
  steps_.push_back({std::move(name), begin_ns_ - took_ns, begin_ns_});
}

double Phases::seconds_of(std::string_view name) const {
  const auto found = std::ranges::find(steps_, name, &Step::name);
  return found == steps_.end() ? 0.0 : found->seconds();
}

void Phases::record(trace::Recorder& recorder) {
  // Each step is passed on once: a trace asks for steps when it is gathered, and again at its end.
  for (; num_recorded_ < steps_.size(); ++num_recorded_) {
    const Step& step = steps_[num_recorded_];
    recorder.add(trace::make_event(trace::Kind::phase, step.name, step.begin_ns, step.end_ns));
  }
}

std::vector<report::PhaseTime> Phases::over_ranks(const comm::Communicator& comm) const {
  std::vector<double> local;
  for (const Step& step : steps_) local.push_back(step.seconds());
  const auto all = gather_values(comm, local);
  if (!comm.is_root()) return {};
  std::vector<report::PhaseTime> phases;
  for (std::size_t step = 0; step < steps_.size(); ++step) {
    report::PhaseTime time{steps_[step].name, local[step], 0, local[step]};
    // `all` is [rank][step], because every rank has the same steps in the same order.
    for (std::size_t at = step; at < all.size(); at += steps_.size()) {
      time.min_s = std::min(time.min_s, all[at]);
      time.max_s = std::max(time.max_s, all[at]);
      time.mean_s += all[at] / comm.world_size();
    }
    phases.push_back(time);
  }
  return phases;
}

}  // namespace tally::app
