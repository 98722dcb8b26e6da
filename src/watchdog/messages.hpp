// SPDX-License-Identifier: Apache-2.0
// What watchdogs of different nodes say to one another: lines of JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "judgement.hpp"

namespace tally::watchdog {

// A line that is longer is not one of ours.
inline constexpr std::size_t kMostLineBytes = 256 << 10;

// The first line on a connection. The token, which ranks got by MPI, says that this is the same
// job.
struct Hello {
  std::string token;
  int node = 0;
  std::string host;
};

// From a node to rank 0, again and again. Without paces the latest ones still hold.
struct NodeReport {
  NodeSummary summary;
  std::string phase, object;  // of the rank that sends it
  int failure_code = 0;       // of the rank there that ends the job
  bool has_left = false;
};

// From rank 0 to each node.
struct JobReport {
  double longest_step_s = 0;  // of any rank
  int failure_code = 0;
  bool has_left = false;
};

// Each ends in a line feed.
std::string to_line(const Hello& hello);
std::string to_line(const NodeReport& report);
std::string to_line(const JobReport& report);

// None where the line is no such message.
std::optional<Hello> hello_from(std::string_view line);
std::optional<NodeReport> node_report_from(std::string_view line);
std::optional<JobReport> job_report_from(std::string_view line);

}  // namespace tally::watchdog
