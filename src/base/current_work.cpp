// SPDX-License-Identifier: Apache-2.0
#include <tally/base/current_work.hpp>

#include <atomic>
#include <exception>

#include <tally/base/activity.hpp>

#include "main_thread.hpp"

namespace tally {
namespace {

std::atomic<const char*> phase_under_way = "";

// The scopes of each thread, and those of the main one, which others may look at: what they point
// at lies on a stack that lives as long as the process.
thread_local WorkScope* innermost = nullptr;
std::atomic<WorkScope*> innermost_of_main = nullptr;
static_assert(std::atomic<WorkScope*>::is_always_lock_free);

// What the scope had that an exception ended first, of the main thread.
std::atomic<bool> has_left = false;
WorkText left_object;

}  // namespace

struct WorkReader {
  static void set(WorkScope* scope) noexcept {
    made_progress();  // first: what another thread reads meanwhile, it drops by that
    innermost = scope;
    if (is_main_thread()) innermost_of_main.store(scope);
  }
  static WorkText text_of(const WorkScope& scope) noexcept {
    WorkText text;
    text << scope.object_.view();
    if (scope.num_samples_ == 0) return text;
    text << ", samples " << scope.first_ << " to " << scope.first_ + scope.num_samples_ - 1;
    return text;
  }
};

void begin_phase(const char* name) noexcept {
  made_progress();
  phase_under_way.store(name);
  has_left.store(false);
}

std::string_view current_phase() noexcept { return phase_under_way.load(); }

WorkScope::WorkScope(std::string_view object) noexcept : outer_(innermost) {
  object_ << object;
  WorkReader::set(this);
}

WorkScope::~WorkScope() {
  // Who catches the exception asks what it was about.
  if (std::uncaught_exceptions() > 0 && is_main_thread() && !has_left.load()) {
    left_object = WorkReader::text_of(*this);
    has_left.store(true);
  }
  WorkReader::set(outer_);
}

void note_samples(std::int64_t first, std::int64_t count) noexcept {
  made_progress();
  if (innermost == nullptr) return;
  innermost->first_ = first;
  innermost->num_samples_ = count;
}

WorkText current_object() noexcept {
  if (innermost != nullptr && !is_main_thread()) return WorkReader::text_of(*innermost);
  if (has_left.load()) return left_object;
  const WorkScope* scope = innermost_of_main.load();
  return scope == nullptr ? WorkText() : WorkReader::text_of(*scope);
}

FixedText<280> current_work() noexcept {
  const std::string_view phase = current_phase();
  const WorkText object = current_object();
  FixedText<280> text;
  text << (phase.empty() ? std::string_view("start") : phase);
  if (!object.view().empty()) text << ", " << object.view();
  return text;
}

}  // namespace tally
