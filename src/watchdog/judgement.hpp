// SPDX-License-Identifier: Apache-2.0
// When a rank counts as stalled or lost. Pure: time and signs come as arguments, in seconds.
//
// Of the limit L (--stall-limit) without any progress a rank may take
// - L where it reads, or waits for a thread that reads;
// - L or ten times the longest step that any rank has ended, whichever is more, for a step of the
//   loop;
// - 10 L for all else: building a model, computing, syncing, closing and renaming files.
// A rank that waits for others has no limit, as long as any of them gets on. One of which nothing
// is heard at all for L, or for the second that a busy node may take, is stopped, or its node is
// lost.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "sign.hpp"

namespace tally::watchdog {

double limit_s(Activity activity, double stall_limit_s, double longest_step_s);
// Of silence.
double silence_limit_s(double stall_limit_s);

// The time in which this process runs: while it is stopped, or starved, its clock stands still, so
// that it blames nobody for what it did not see.
class RunningClock {
 public:
  // The time of a clock that never stands still, seen again after more than `most_s`, counts as
  // `most_s`. Returns the running time since the first call.
  double at(double now_s, double most_s);

 private:
  std::optional<double> last_s_;
  double running_s_ = 0;
};

// For how long a number has stayed the same.
class Unchanged {
 public:
  double for_s(std::uint64_t number, double now_s);

 private:
  std::optional<std::uint64_t> number_;
  double since_s_ = 0;
};

enum class Reason { no_progress, no_sign, gone, all_wait };

struct Suspect {
  int rank = 0;
  Reason reason = Reason::no_progress;
  double unchanged_s = 0;
  double limit_s = 0;  // of which unchanged_s is more
  Activity activity = Activity::other;
  std::size_t node = 0;  // of JobWatch: which of its summaries has the rank
};

// After its process ended a rank is missed for so long: launchers and libraries end a job in which
// a rank failed, with that rank's own code, and need some seconds for it.
constexpr double kLeaveToLauncher = 8;

// A rank's watch of itself.
class OwnWatch {
 public:
  // `bytes_moved` is asked where nothing else has changed for a while: what the process has read
  // and written so far.
  std::optional<Suspect> see(const Sign& own, double longest_step_s, double stall_limit_s,
                             double now_s, const std::function<std::uint64_t()>& bytes_moved);

 private:
  Unchanged progress_;
  std::optional<std::uint64_t> bytes_;  // asked for since the last progress
  double bytes_changed_s_ = 0;
};

// A rank's watch of the ranks of its node, of which it is number `own`.
class NodeWatch {
 public:
  NodeWatch(std::size_t own, std::size_t num_ranks) : own_(own), beats_(num_ranks) {}
  // `has_ended` says of the next rank of the node whether its process is gone; each watches one.
  std::optional<Suspect> see(std::span<const Sign> signs, double stall_limit_s, double now_s,
                             const std::function<bool(const Sign&)>& has_ended);

 private:
  std::size_t own_;
  std::vector<Unchanged> beats_;
  std::optional<double> next_gone_s_;  // since when
};

// How a connection to the watchdog of another node is doing.
struct LinkState {
  bool was_made = false;  // ever
  bool is_open = false;
  bool has_left = false;    // the other end said that it is through
  std::uint64_t heard = 0;  // messages
};

// A watch of the node at the other end of a connection, which speaks by the rank `rank`.
class LinkWatch {
 public:
  // `extra_s` is added to all limits: of several that see the same, one shall be the first.
  std::optional<Suspect> see(const LinkState& link, int rank, double stall_limit_s, double extra_s,
                             double now_s);

 private:
  Unchanged heard_, open_;
};

struct Pace {
  int rank = 0;
  std::int64_t samples = 0;
  double loop_s = 0;
};

// What a node's ranks do, in short.
struct NodeSummary {
  bool all_wait = false;       // all are here, and wait
  std::uint64_t progress = 0;  // of all
  double longest_step_s = 0;
  std::uint64_t fewest_waits = 0;  // collectives that the rank behind all others has begun
  int rank_behind = 0;
  std::vector<Pace> paces;
};
NodeSummary summarise(std::span<const Sign> signs);

// Rank 0's watch of a job whose ranks are all alive and all wait.
class JobWatch {
 public:
  std::optional<Suspect> see(std::span<const NodeSummary> nodes, double stall_limit_s,
                             double now_s);

 private:
  Unchanged progress_;
};

// Ranks that take at least three times the median time for a sample, after `least_s` of the loop.
std::vector<Pace> stragglers(std::span<const NodeSummary> nodes, double least_s);
// The median over ranks that have completed samples; 0 where there is none.
double median_seconds_per_sample(std::span<const NodeSummary> nodes);

}  // namespace tally::watchdog
