// SPDX-License-Identifier: Apache-2.0
#include "watch_thread.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>

#include <tally/base/checked_cast.hpp>
#include <tally/base/clock.hpp>
#include <tally/base/current_work.hpp>
#include <tally/base/error.hpp>
#include <tally/base/fatal_signals.hpp>
#include <tally/base/format.hpp>
#include <tally/base/host_and_libraries.hpp>
#include <tally/base/log.hpp>

#include "process_facts.hpp"

namespace tally::watchdog {
namespace {

constexpr double kLongestPeriod = 0.5;
constexpr double kShortestPeriod = 0.01;
// How long a rank whose job another one ends with a line goes on: that line comes first, and its
// record beside the output.
constexpr double kLeaveToSpeaker = 5;
constexpr double kPatienceWithNodes = 30;
// Nodes other than the first that miss rank 0 leave the line to that one.
constexpr double kAfterFirstNode = 3;
// A pace of less than this, or than a quarter of the limit, says little.
constexpr double kLeastPaceSeconds = 10;

constexpr std::uint64_t kReportsPerPaces = 10;

double period_s(double limit_s) {
  return limit_s > 0 ? std::clamp(limit_s / 20, kShortestPeriod, kLongestPeriod) : kLongestPeriod;
}

// What the main thread is at, which may move on meanwhile: then it is asked again.
Sign sign_of_this_process() {
  Sign sign;
  for (int tries = 0; tries < 3; ++tries) {
    sign.activity = activity_now();
    sign.phase = {};
    sign.phase << current_phase();
    sign.object = current_object();
    if (activity_now().progress == sign.activity.progress) break;
  }
  return sign;
}

}  // namespace

WatchThread::WatchThread() : timer_(io_) {}

void WatchThread::open_hub(Job& job) {
  if (job.first_ranks.size() < 2) return;
  try {
    hub_.emplace(io_, job.token, checked_cast<int>(std::ssize(job.first_ranks)));
    job.addresses = own_addresses();
    job.port = hub_->port();
  } catch (const boost::system::system_error& error) {
    log::note(format("no port could be opened ({}): of a node that is lost nobody will know",
                     error.what()));
  }
}

void WatchThread::join(Job job) {
  job_ = std::move(job);
  board_.emplace(job_.memory);
  if (job_.memory.empty()) job_.local_rank = 0;
  node_.emplace(to_size(job_.local_rank), board_->num_ranks());
  links_.resize(std::max<std::size_t>(1, job_.first_ranks.size()));
  if (job_.node.value_or(0) > 0) {
    link_.emplace(io_, job_.addresses, job_.port, Hello{job_.token, *job_.node, host_name()});
  }
  show(Presence::here);
}

void WatchThread::run() {
  look();
  io_.run();
}

void WatchThread::leave() {
  boost::asio::post(io_, [this] {
    show(Presence::left);
    exchange(0, true);
    io_.stop();
  });
}

void WatchThread::look() {
  const double limit_s = stall_limit();
  const double period = period_s(limit_s);
  timer_.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(period)));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) look();
  });
  const double now_s = clock_.at(static_cast<double>(now_ns()) * 1e-9, 4 * period);
  show(Presence::here);
  signs_ = board_->look();
  summarise_nodes();
  const int code = claimed_failure();
  exchange(code, false);
  if (code != 0) return follow_failure(now_s);
  if (limit_s <= 0) return;
  judge(limit_s, now_s);
  if (job_.rank == 0) warn_of_stragglers(limit_s);
  if (hub_) note_unreached_nodes(now_s);
}

void WatchThread::show(Presence presence) {
  static const std::uint64_t kNamespace = pid_namespace();
  Sign sign = sign_of_this_process();
  sign.presence = presence;
  sign.rank = job_.rank;
  sign.pid = ::getpid();
  sign.pid_namespace = kNamespace;
  sign.beats = ++beats_;
  board_->show(to_size(job_.local_rank), sign);
}

// What other nodes say of a failure is as good as a claim on this one.
void WatchThread::exchange(int code, bool has_left) {
  if (link_) {
    NodeReport report;
    report.summary = nodes_.front();
    // They are most of a message, and nobody acts on them.
    if (beats_ % kReportsPerPaces != 0) report.summary.paces.clear();
    report.failure_code = code;
    report.has_left = has_left;
    report.phase = current_phase();
    report.object = current_object().view();
    link_->send(report);
    const int from_root = link_->latest().failure_code;
    if (code == 0 && from_root != 0) claim_failure(from_root);
  }
  if (!hub_) return;
  int known = code;
  for (const auto& node : hub_->nodes()) known = std::max(known, node.report.failure_code);
  if (code == 0 && known != 0) claim_failure(known);
  hub_->send_all({longest_step_s(), known, has_left});
}

// This node is the first one; rank 0 has those of the others.
void WatchThread::summarise_nodes() {
  nodes_.assign(1, summarise(signs_));
  if (!hub_) return;
  const auto& nodes = hub_->nodes();
  for (std::size_t i = 1; i < nodes.size(); ++i) nodes_.push_back(nodes[i].report.summary);
}

double WatchThread::longest_step_s() const {
  double longest = link_ ? link_->latest().longest_step_s : 0;
  for (const auto& summary : nodes_) longest = std::max(longest, summary.longest_step_s);
  return longest;
}

Sign WatchThread::sign_of(int rank) {
  const auto found = std::ranges::find(signs_, rank, &Sign::rank);
  if (found != signs_.end()) return *found;
  Sign sign;
  sign.phase << current_phase();
  return sign;
}

void WatchThread::judge(double limit_s, double now_s) {
  const Sign& own = signs_[to_size(job_.local_rank)];
  if (const auto suspect = own_.see(own, longest_step_s(), limit_s, now_s, bytes_moved_by_others)) {
    accuse(*suspect, own, host_name(), limit_s);
  }
  const auto is_gone = [&](const Sign& sign) {
    const bool is_comparable = own.pid_namespace != 0 && sign.pid_namespace == own.pid_namespace;
    return is_comparable && has_ended(checked_cast<pid_t>(sign.pid));
  };
  if (const auto suspect = node_->see(signs_, limit_s, now_s, is_gone)) {
    accuse(*suspect, sign_of(suspect->rank), host_name(), limit_s);
  }
  judge_nodes(limit_s, now_s);
}

void WatchThread::judge_nodes(double limit_s, double now_s) {
  if (link_) {
    const double extra_s = *job_.node == 1 ? 0 : kAfterFirstNode;
    const auto suspect = links_.front().see(link_->state(), 0, limit_s, extra_s, now_s);
    if (suspect) accuse(*suspect, sign_of(0), job_.host_of_root, limit_s);
  }
  if (job_.rank != 0) return;
  for (std::size_t i = 1; hub_ && i < links_.size(); ++i) {
    const Hub::Node& node = hub_->nodes()[i];
    const auto suspect = links_[i].see(node.link, job_.first_ranks[i], limit_s, 0, now_s);
    if (suspect) accuse_node(*suspect, node, limit_s);
  }
  if (!job_.sees_all()) return;
  const auto suspect = all_.see(nodes_, limit_s, now_s);
  if (!suspect) return;
  if (suspect->node == 0) accuse(*suspect, sign_of(suspect->rank), host_name(), limit_s);
  accuse_node(*suspect, hub_->nodes()[suspect->node], limit_s);
}

// By what the first rank there said last.
void WatchThread::accuse_node(const Suspect& suspect, const Hub::Node& node, double limit_s) {
  Sign sign;
  sign.phase << node.report.phase;
  sign.object << node.report.object;
  accuse(suspect, sign, node.host, limit_s);
}

void WatchThread::accuse(const Suspect& suspect, const Sign& sign, const std::string& host,
                         double limit_s) {
  if (claim_failure(exit_code(ErrorKind::stalled)) != 0) return;
  end_job(make_verdict(suspect, sign, host, limit_s));
}

void WatchThread::end_job(const Verdict& verdict) {
  write_all(STDERR_FILENO, verdict.line(job_.world_size) + "\n");
  constexpr int kCode = exit_code(ErrorKind::stalled);
  exchange(kCode, false);
  end_process(kCode, [&] { record_failure(verdict.record()); });
}

// Another rank ends the job, by its launcher; where that takes long, this rank ends by itself.
void WatchThread::follow_failure(double now_s) {
  const int code = claimed_failure();
  if (!failed_since_s_) failed_since_s_ = now_s;
  const double patience =
      code == exit_code(ErrorKind::stalled) ? kLeaveToSpeaker : kLeaveToLauncher;
  if (now_s - *failed_since_s_ > patience) end_process(code);
}

void WatchThread::warn_of_stragglers(double limit_s) {
  const double median = median_seconds_per_sample(nodes_);
  for (const Pace& pace : stragglers(nodes_, std::min(kLeastPaceSeconds, limit_s / 4))) {
    if (!slow_ranks_.insert(pace.rank).second) continue;
    log::warning(
        format("rank {} is slow: so far it takes {:.1f} times the median time for a sample",
               pace.rank, pace.loop_s / static_cast<double>(pace.samples) / median));
  }
}

void WatchThread::note_unreached_nodes(double now_s) {
  if (has_noted_nodes_ || now_s < kPatienceWithNodes) return;
  has_noted_nodes_ = true;
  std::vector<int> unreached;
  for (std::size_t i = 1; i < links_.size(); ++i) {
    if (!hub_->nodes()[i].link.was_made) unreached.push_back(job_.first_ranks[i]);
  }
  if (unreached.empty()) return;
  log::note(
      format("the watchdogs of {} nodes (ranks {} on) did not reach port {} of this one: of a "
             "node that is lost nobody will know",
             unreached.size(), fmt::join(unreached, ", "), job_.port));
}

}  // namespace tally::watchdog
