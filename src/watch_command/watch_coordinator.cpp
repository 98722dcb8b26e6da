// SPDX-License-Identifier: Apache-2.0
#include "watch_coordinator.hpp"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include <tally/base/activity.hpp>
#include <tally/base/console.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/interrupt.hpp>
#include <tally/base/log.hpp>
#include <tally/base/nearest_word.hpp>
#include <tally/base/printable.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/weights/checkpoint_files.hpp>

namespace tally::app {
namespace {

// What counts as better: by the options of the user, else by the description of the metric.
// Error(usage) for a metric that is not computed or is no single number.
watch::StopSettings stop_settings(const EvaluationSession& session) {
  const auto& config = session.config.watch;
  const auto& metrics = session.scoring.task->metrics();
  if (metrics.empty()) {
    throw Error(ErrorKind::usage, "nothing is computed that could tell checkpoints apart",
                "Name metrics with --metrics.");
  }
  watch::StopSettings settings;
  settings.monitor = config.monitor.empty() ? metrics.front() : config.monitor;
  if (std::ranges::find(metrics, settings.monitor) == metrics.end()) {
    throw Error(ErrorKind::usage,
                format("--monitor: the metric '{}' is not computed", printable(settings.monitor)),
                did_you_mean(settings.monitor, {metrics.begin(), metrics.end()},
                             "Name it with --metrics, too."));
  }
  const auto description = metrics::description_of(session.scoring.task_name, settings.monitor);
  if (description && description->is_table) {
    throw Error(ErrorKind::usage, format("--monitor: '{}' is no single number", settings.monitor));
  }
  const bool less_is_better =
      config.mode.empty() ? description && description->less_is_better : config.mode == "min";
  settings.mode = less_is_better ? watch::Mode::min : watch::Mode::max;
  settings.patience = config.patience;
  settings.min_delta = config.min_delta;
  settings.significant = config.significant;
  return settings;
}

// The checkpoints that need not be read anew. One that could not be read is tried after a restart,
// for the reason (a mount of a node, permissions) may have gone without a change of size or time.
std::vector<watch::Checkpoint> known_of(const std::vector<watch::Entry>& entries) {
  std::vector<watch::Checkpoint> known;
  for (const auto& entry : entries) {
    const bool is_evaluated = entry.status == watch::Status::evaluated;
    if (is_evaluated || !entry.weights_sha256.empty()) known.push_back(entry.checkpoint);
  }
  return known;
}

watch::Entry entry_of(const report::RunReport& report, const watch::Checkpoint& checkpoint) {
  watch::Entry entry;
  entry.checkpoint = checkpoint;
  entry.time = utc_now_iso();
  entry.samples = report.metrics.results.samples().count;
  for (const auto& metric : report.metrics.results.metrics) {
    watch::Estimate estimate{metric.value, std::nullopt, std::nullopt, {}};
    if (const auto& interval = metric.interval) {
      estimate = {metric.value, interval->low, interval->high, interval->method};
    }
    entry.metrics.emplace_back(metric.name, estimate);
  }
  entry.state_digest = report.digests.state;
  entry.weights_sha256 = report.inputs.weights->tensors_sha256;
  entry.seconds = report.timing.wall_s;
  return entry;
}

std::string step_text(const watch::Checkpoint& checkpoint) {
  return checkpoint.step ? format("step {}", *checkpoint.step) : std::string("no step");
}

void say(const std::string& line) {
  console::print_line(line);
  std::fflush(stdout);
}

}  // namespace

WatchCoordinator::WatchCoordinator(const EvaluationSession& session)
    : session_(session),
      settings_(stop_settings(session)),
      output_(session),
      leaderboard_(output_.path()),
      folder_(session.config.watch.checkpoints, watch::cached(weights::checkpoint_files),
              {session.config.watch.poll_s, process_age_s}, known_of(leaderboard_.entries())),
      best_(session.config.watch.keep_best, output_.path(), folder_) {
  const auto limit_s = session.config.watch.time_limit_s;
  if (limit_s > 0) limit_s_ = static_cast<double>(limit_s);
  std::error_code ignored;
  // An earlier run may have stopped by other settings; judge() writes the file if these stop, too.
  std::filesystem::remove(output_.path() / "stop.json", ignored);
  if (!leaderboard_.entries().empty()) {
    judge();
    log::note(format("'{}' goes on: {}", printable(output_.path().string()), counts()));
  }
}

bool WatchCoordinator::is_over() const {
  const auto limit = session_.config.watch.stop_after;
  return verdict_.stop || (limit > 0 && verdict_.num_evaluated >= limit);
}

WatchStep WatchCoordinator::next() {
  if (is_over()) return WatchStep::end;
  const auto poll = folder_.poll();
  for (const auto& [checkpoint, reason] : poll.broken) report_unreadable(checkpoint, reason);
  // The longest evaluation so far is taken as the time that the next one needs.
  const bool is_late = process_age_s() + longest_s_ > limit_s_;
  if (open_next(poll.ready)) return is_late ? WatchStep::end_resumable : WatchStep::evaluate;
  if (poll.is_done && poll.ready.empty() && poll.num_waiting == 0) return WatchStep::end;
  if (is_late) return WatchStep::end_resumable;
  if (!has_said_waiting_) {
    log::note(
        format("waiting for checkpoints in '{}'", printable(session_.config.watch.checkpoints)));
    has_said_waiting_ = true;
  }
  // A signal ends the wait early. --poll is at most 1e6 seconds, which as milliseconds fit an int.
  const double rest_s = std::min(folder_.next_scan_s(), limit_s_ - longest_s_) - process_age_s();
  if (!asked_to_stop() && rest_s > 0) {
    const ActivityScope waiting(Activity::idle);
    ::poll(nullptr, 0, static_cast<int>(std::ceil(rest_s * 1e3)));
  }
  return WatchStep::poll_later;
}

// Opens the first checkpoint that can be read and fits the model; false if there is none. Each that
// fails counts one failure more.
bool WatchCoordinator::open_next(const std::vector<watch::Checkpoint>& ready) {
  for (const auto& checkpoint : ready) {
    try {
      opened_ = weights::open_checkpoint(checkpoint.path, session_.config.files.weights_key);
      session_.model.loaded->match_state_dict(opened_);
      current_ = checkpoint;
      since_current_ = {};
      return true;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::model) throw;
      folder_.unreadable(checkpoint, error.what());
    }
  }
  return false;
}

std::string WatchCoordinator::result_folder() const {
  const auto& entries = leaderboard_.entries();
  // A name that was written anew has a result already. evaluated() gets the same answer, as the
  // entry is appended after it has asked.
  auto name = format("results/{}", current_.name);
  for (int version = 2; std::ranges::count(entries, name, &watch::Entry::result) > 0; ++version) {
    name = format("results/{}-{}", current_.name, version);
  }
  return output_.path() / name;
}

bool WatchCoordinator::was_read_whole() {
  if (!folder_.was_rewritten(current_)) return true;
  folder_.put_off(current_);
  log::note(
      format("'{}' changed while it was read: it comes again", printable(current_.path.string())));
  return false;
}

void WatchCoordinator::evaluated(const report::RunReport& report) {
  longest_s_ = std::max(longest_s_, since_current_.elapsed_s());
  auto entry = entry_of(report, current_);
  entry.result = std::filesystem::path(result_folder()).lexically_relative(output_.path());
  // The result is on the disk: a kill before this line costs no more than a second evaluation.
  leaderboard_.append(entry);
  folder_.taken(current_);
  judge();
  const std::string_view best = verdict_.best == verdict_.last ? "  best so far" : "";
  std::string standing;
  if (settings_.patience > 0 && verdict_.without_gain > 0) {
    standing = format("{}{} of {} without a gain", best.empty() ? "  " : ", ",
                      verdict_.without_gain, settings_.patience);
  }
  say(format("{:<9} {}  {}  {:.1f} s{}{}", step_text(entry.checkpoint),
             printable(entry.checkpoint.name), metric_text(entry), entry.seconds, best, standing));
  note_lack_of_interval(entry);
}

// Once: what counts as a gain is then another rule than was asked for.
void WatchCoordinator::note_lack_of_interval(const watch::Entry& entry) {
  const auto* metric = watch::metric_of(entry, settings_.monitor);
  const bool decides = settings_.patience > 0 && settings_.significant && metric != nullptr;
  if (!decides || metric->low || has_noted_lack_) return;
  has_noted_lack_ = true;
  log::note(
      format("'{}' has no interval (see --intervals): a gain is what is better by more than "
             "--min-delta",
             settings_.monitor));
}

void WatchCoordinator::failed(ErrorKind kind, const std::string& reason) {
  if (kind == ErrorKind::model) {  // it was changed, or is damaged behind its directory
    folder_.unreadable(current_, reason);
    return;
  }
  // The tensors could be read, so that another try would end alike.
  folder_.taken(current_);
  report_unreadable(current_, reason, session_.model.weights->tensors_sha256);
}

void WatchCoordinator::report_unreadable(const watch::Checkpoint& checkpoint,
                                         const std::string& reason,
                                         const std::string& weights_sha256) {
  watch::Entry entry;
  entry.status = watch::Status::broken;
  entry.checkpoint = checkpoint;
  entry.time = utc_now_iso();
  entry.reason = reason;
  entry.weights_sha256 = weights_sha256;
  const auto is_told = [&](const watch::Entry& earlier) {
    return earlier.reason == reason && watch::is_same_version(earlier.checkpoint, checkpoint);
  };
  if (std::ranges::none_of(leaderboard_.entries(), is_told)) leaderboard_.append(entry);
  log::warning(format("checkpoint '{}' is passed over: {}", printable(checkpoint.name), reason));
  judge();
}

void WatchCoordinator::judge() {
  // The verdict points into the entries, which append() may move, so that it is made anew after
  // each append().
  verdict_ = watch::judge(leaderboard_.entries(), settings_);
  if (verdict_.best != nullptr) best_.update(verdict_.best->checkpoint);
  if (!verdict_.stop) return;
  watch::write_stop_file(output_.path() / "stop.json", verdict_, settings_, utc_now_iso());
}

std::string WatchCoordinator::metric_text(const watch::Entry& entry) const {
  const auto* metric = watch::metric_of(entry, settings_.monitor);
  if (metric == nullptr || !metric->value) return format("{} undefined", settings_.monitor);
  auto text = format("{} {:.6g}", settings_.monitor, *metric->value);
  if (metric->low && metric->high)
    text += format(" ({:.6g} to {:.6g})", *metric->low, *metric->high);
  return text;
}

std::string WatchCoordinator::counts() const {
  const auto num_broken = std::ssize(leaderboard_.entries()) - verdict_.num_evaluated;
  return format("{} {} evaluated, {} passed over", verdict_.num_evaluated,
                verdict_.num_evaluated == 1 ? "checkpoint" : "checkpoints", num_broken);
}

void WatchCoordinator::finish(bool is_resumable) {
  if (verdict_.best != nullptr) best_.update(verdict_.best->checkpoint);  // what became of it since
  const auto& output = printable(output_.path().string());
  if (verdict_.stop) say(format("Training can stop: {}", verdict_.reason));
  if (verdict_.best != nullptr) {
    const auto& best = *verdict_.best;
    say(format("Best      {} ({}), {}", printable(best.checkpoint.path.string()),
               step_text(best.checkpoint), metric_text(best)));
  }
  say(format("Watched   {}; {}/leaderboard.jsonl", counts(), output));
  if (is_resumable) return say("Stopped   the same command goes on from here");
  output_.mark_ended();
}

}  // namespace tally::app
