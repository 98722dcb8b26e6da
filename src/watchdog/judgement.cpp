// SPDX-License-Identifier: Apache-2.0
#include "judgement.hpp"

#include <algorithm>
#include <limits>

#include <tally/base/checked_cast.hpp>

namespace tally::watchdog {
namespace {

constexpr double kManyTimes = 10;
constexpr double kStragglerFactor = 3;
// A call of MPI that all ranks are in is given longer: that a process is stopped, or a node lost,
// is to be found first, for it is the cause.
constexpr double kAllWaitTimes = 2;

double seconds_per_sample(const Pace& pace) {
  return pace.loop_s / static_cast<double>(pace.samples);
}

}  // namespace

double limit_s(Activity activity, double stall_limit_s, double longest_step_s) {
  switch (activity) {
    case Activity::read:
      return stall_limit_s;
    case Activity::step:
      return std::max(stall_limit_s, kManyTimes * longest_step_s);
    case Activity::other:
      return kManyTimes * stall_limit_s;
    case Activity::wait_for_ranks:
    case Activity::idle:
      break;
  }
  return std::numeric_limits<double>::infinity();
}

double silence_limit_s(double stall_limit_s) {
  constexpr double kLeast = 1;
  return std::max(stall_limit_s, kLeast);
}

double RunningClock::at(double now_s, double most_s) {
  if (last_s_) running_s_ += std::clamp(now_s - *last_s_, 0.0, most_s);
  last_s_ = now_s;
  return running_s_;
}

double Unchanged::for_s(std::uint64_t number, double now_s) {
  if (number_ != number) since_s_ = now_s;
  number_ = number;
  return now_s - since_s_;
}

std::optional<Suspect> OwnWatch::see(const Sign& own, double longest_step_s, double stall_limit_s,
                                     double now_s,
                                     const std::function<std::uint64_t()>& bytes_moved) {
  const double limit = limit_s(own.activity.activity, stall_limit_s, longest_step_s);
  double unchanged_s = progress_.for_s(own.activity.progress, now_s);
  // Libraries read and write, too: a large file need not be one call's work.
  const bool is_long = unchanged_s > stall_limit_s / 4;
  if (is_long && limit < std::numeric_limits<double>::infinity()) {
    const auto bytes = bytes_moved();
    if (!bytes_) bytes_changed_s_ = now_s - unchanged_s;
    if (bytes_ && *bytes_ != bytes) bytes_changed_s_ = now_s;
    bytes_ = bytes;
    unchanged_s = std::min(unchanged_s, now_s - bytes_changed_s_);
  } else {
    bytes_.reset();
  }
  if (unchanged_s <= limit) return std::nullopt;
  return Suspect{own.rank, Reason::no_progress, unchanged_s, limit, own.activity.activity};
}

std::optional<Suspect> NodeWatch::see(std::span<const Sign> signs, double stall_limit_s,
                                      double now_s,
                                      const std::function<bool(const Sign&)>& has_ended) {
  const double limit = silence_limit_s(stall_limit_s);
  std::optional<Suspect> found;
  for (std::size_t i = 0; i < signs.size(); ++i) {
    const Sign& sign = signs[i];
    const double unchanged_s = beats_[i].for_s(sign.beats, now_s);
    if (i == own_ || sign.presence != Presence::here || unchanged_s <= limit) continue;
    if (!found) {
      found = Suspect{sign.rank, Reason::no_sign, unchanged_s, limit, sign.activity.activity};
    }
  }
  const Sign& next = signs[(own_ + 1) % signs.size()];
  const bool is_gone = signs.size() > 1 && next.presence == Presence::here && has_ended(next);
  if (!is_gone) {
    next_gone_s_.reset();
    return found;
  }
  if (!next_gone_s_) next_gone_s_ = now_s;
  if (now_s - *next_gone_s_ <= kLeaveToLauncher) return found;
  return Suspect{next.rank, Reason::gone, now_s - *next_gone_s_, kLeaveToLauncher,
                 next.activity.activity};
}

std::optional<Suspect> LinkWatch::see(const LinkState& link, int rank, double stall_limit_s,
                                      double extra_s, double now_s) {
  const double silent_s = heard_.for_s(link.heard, now_s);
  const double closed_s = open_.for_s(link.is_open ? 1 : 0, now_s);
  if (!link.was_made || link.has_left) return std::nullopt;
  const double most_closed_s = kLeaveToLauncher + extra_s;
  if (!link.is_open && closed_s > most_closed_s) {
    return Suspect{rank, Reason::gone, closed_s, most_closed_s, Activity::other};
  }
  // A second later than ranks of that node, which know more.
  const double most_silent_s = silence_limit_s(stall_limit_s) + 1 + extra_s;
  if (!link.is_open || silent_s <= most_silent_s) return std::nullopt;
  return Suspect{rank, Reason::no_sign, silent_s, most_silent_s, Activity::other};
}

NodeSummary summarise(std::span<const Sign> signs) {
  NodeSummary summary;
  summary.all_wait = true;
  summary.fewest_waits = std::numeric_limits<std::uint64_t>::max();
  for (const Sign& sign : signs) {
    const ActivityNow& activity = sign.activity;
    summary.progress += activity.progress;
    summary.longest_step_s =
        std::max(summary.longest_step_s, static_cast<double>(activity.longest_step_ns) * 1e-9);
    if (activity.loop_s > 0) {
      summary.paces.push_back({sign.rank, activity.samples, activity.loop_s});
    }
    // One that has left waits for nobody, and the rest of the node may be at its end, too.
    if (sign.presence != Presence::here || activity.activity != Activity::wait_for_ranks) {
      summary.all_wait = false;
    }
    if (activity.waits < summary.fewest_waits) {
      summary.fewest_waits = activity.waits;
      summary.rank_behind = sign.rank;
    }
  }
  return summary;
}

std::optional<Suspect> JobWatch::see(std::span<const NodeSummary> nodes, double stall_limit_s,
                                     double now_s) {
  std::uint64_t progress = 0;
  for (const auto& node : nodes) progress += node.progress;
  const double unchanged_s = progress_.for_s(progress, now_s);
  const double limit = kAllWaitTimes * stall_limit_s;
  if (unchanged_s <= limit || !std::ranges::all_of(nodes, &NodeSummary::all_wait)) {
    return std::nullopt;
  }
  const auto behind = std::ranges::min_element(nodes, {}, &NodeSummary::fewest_waits);
  return Suspect{behind->rank_behind,
                 Reason::all_wait,
                 unchanged_s,
                 limit,
                 Activity::wait_for_ranks,
                 to_size(behind - nodes.begin())};
}

double median_seconds_per_sample(std::span<const NodeSummary> nodes) {
  std::vector<double> all;
  for (const auto& node : nodes) {
    for (const Pace& pace : node.paces) {
      if (pace.samples > 0) all.push_back(seconds_per_sample(pace));
    }
  }
  if (all.empty()) return 0;
  const auto middle = all.begin() + (std::ssize(all) - 1) / 2;
  std::ranges::nth_element(all, middle);
  return *middle;
}

std::vector<Pace> stragglers(std::span<const NodeSummary> nodes, double least_s) {
  const double median = median_seconds_per_sample(nodes);
  std::vector<Pace> slow;
  for (const auto& node : nodes) {
    for (const Pace& pace : node.paces) {
      if (pace.samples == 0 || pace.loop_s < least_s) continue;
      if (seconds_per_sample(pace) >= kStragglerFactor * median) slow.push_back(pace);
    }
  }
  return slow;
}

}  // namespace tally::watchdog
