// SPDX-License-Identifier: Apache-2.0
#include <tally/base/activity.hpp>

#include <atomic>

#include <tally/base/clock.hpp>

#include "main_thread.hpp"

namespace tally {
namespace {

std::atomic<Activity> activity_under_way = Activity::other;
std::atomic<std::uint64_t> steps_of_progress = 0;
std::atomic<std::uint64_t> waits_begun = 0;
std::atomic<std::int64_t> longest_step = 0;
std::atomic<std::int64_t> samples_done = 0;
std::atomic<double> seconds_of_loop = 0;
std::atomic<double> limit_of_stall = 60;

}  // namespace

ActivityScope::ActivityScope(Activity activity) noexcept : outer_(activity_under_way.load()) {
  made_progress();
  if (!is_main_thread()) return;
  if (activity == Activity::wait_for_ranks && outer_ != activity) waits_begun.fetch_add(1);
  if (activity == Activity::step) began_ns_ = now_ns();
  activity_under_way.store(activity);
}

ActivityScope::~ActivityScope() {
  made_progress();
  if (!is_main_thread()) return;
  if (began_ns_ != 0) note_step(now_ns() - began_ns_);
  activity_under_way.store(outer_);
}

void made_progress() noexcept { steps_of_progress.fetch_add(1, std::memory_order_relaxed); }

void note_step(std::int64_t took_ns) noexcept {
  if (took_ns > longest_step.load()) longest_step.store(took_ns);
}

void note_pace(std::int64_t samples, double seconds) noexcept {
  samples_done.store(samples);
  seconds_of_loop.store(seconds);
}

ActivityNow activity_now() noexcept {
  return {activity_under_way.load(), steps_of_progress.load(), waits_begun.load(),
          longest_step.load(),       samples_done.load(),      seconds_of_loop.load()};
}

void set_stall_limit(double seconds) noexcept { limit_of_stall.store(seconds); }

double stall_limit() noexcept { return limit_of_stall.load(); }

}  // namespace tally
