// SPDX-License-Identifier: Apache-2.0
// The thread of a watchdog: it shows what this rank does, looks at what others show, and ends the
// process where one of them hangs, or where another rank ends the job.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <tally/comm/communicator.hpp>

#include "hub.hpp"
#include "judgement.hpp"
#include "link.hpp"
#include "node_board.hpp"
#include "verdict.hpp"

namespace tally::watchdog {

// What a rank knows of its job once all ranks have exchanged it.
struct Job {
  int rank = 0, world_size = 1, local_rank = 0;
  std::span<std::byte> memory;  // of the ranks of this node; NodeBoard
  // The first rank of each node, of which the first one is rank 0; this rank's number among them,
  // if it is one.
  std::vector<int> first_ranks;
  std::optional<int> node;
  bool has_memory = true;  // on every node
  // How to reach rank 0's watchdog; no addresses where that is not possible.
  std::string host_of_root, token;
  std::vector<std::string> addresses;
  std::uint16_t port = 0;

  // Whether rank 0 gets signs of all ranks: in the memory of its node, and from other nodes over
  // TCP. Where it does not, that no rank known to it moves is no sign of a stall.
  bool sees_all() const { return has_memory && (first_ranks.size() == 1 || !addresses.empty()); }
};

class WatchThread {
 public:
  WatchThread();
  // Opens rank 0's port where there are several nodes. Before joining.
  void open_hub(Job& job);
  void join(Job job);
  // Until leave(), which another thread calls.
  void run();
  void leave();

 private:
  void look();
  void show(Presence presence);
  void exchange(int code, bool has_left);
  void summarise_nodes();
  double longest_step_s() const;
  void judge(double limit_s, double now_s);
  void judge_nodes(double limit_s, double now_s);
  void warn_of_stragglers(double limit_s);
  void note_unreached_nodes(double now_s);
  void follow_failure(double now_s);
  Sign sign_of(int rank);
  [[noreturn]] void end_job(const Verdict& verdict);
  void accuse_node(const Suspect& suspect, const Hub::Node& node, double limit_s);
  void accuse(const Suspect& suspect, const Sign& sign, const std::string& host, double limit_s);

  boost::asio::io_context io_;
  boost::asio::steady_timer timer_;
  Job job_;
  std::optional<NodeBoard> board_;
  std::optional<Hub> hub_;    // on rank 0
  std::optional<Link> link_;  // on the first rank of another node
  std::uint64_t beats_ = 0;
  std::span<const Sign> signs_;  // of the latest look, as are these:
  std::vector<NodeSummary> nodes_{1};
  RunningClock clock_;
  OwnWatch own_;
  std::optional<NodeWatch> node_;
  std::vector<LinkWatch> links_;
  JobWatch all_;
  std::set<int> slow_ranks_;  // those that were warned of
  bool has_noted_nodes_ = false;
  std::optional<double> failed_since_s_;
};

}  // namespace tally::watchdog
