// SPDX-License-Identifier: Apache-2.0
#include "messages.hpp"

#include <nlohmann/json.hpp>

namespace tally::watchdog {
namespace {

using nlohmann::json;

std::string line_of(const json& message) {
  // Names of files need not be UTF-8.
  return message.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

// An exit code, or 0.
bool is_code(int code) { return code >= 0 && code <= 255; }

bool is_possible(const Hello&) { return true; }
bool is_possible(const NodeReport& report) { return is_code(report.failure_code); }
bool is_possible(const JobReport& report) { return is_code(report.failure_code); }

// A line from the network may hold anything.
template <class Message, class Read>
std::optional<Message> parsed(std::string_view line, const Read& read) {
  try {
    const json message = json::parse(line);
    Message result;
    read(message, result);
    if (!is_possible(result)) return std::nullopt;
    return result;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::string to_line(const Hello& hello) {
  return line_of({{"token", hello.token}, {"node", hello.node}, {"host", hello.host}});
}

std::string to_line(const NodeReport& report) {
  const NodeSummary& summary = report.summary;
  json paces = json::array();
  for (const Pace& pace : summary.paces) {
    paces.push_back({pace.rank, pace.samples, pace.loop_s});
  }
  return line_of({{"all_wait", summary.all_wait},
                  {"progress", summary.progress},
                  {"longest_step_s", summary.longest_step_s},
                  {"fewest_waits", summary.fewest_waits},
                  {"rank_behind", summary.rank_behind},
                  {"paces", std::move(paces)},
                  {"phase", report.phase},
                  {"object", report.object},
                  {"failure_code", report.failure_code},
                  {"has_left", report.has_left}});
}

std::string to_line(const JobReport& report) {
  return line_of({{"longest_step_s", report.longest_step_s},
                  {"failure_code", report.failure_code},
                  {"has_left", report.has_left}});
}

std::optional<Hello> hello_from(std::string_view line) {
  return parsed<Hello>(line, [](const json& message, Hello& hello) {
    message.at("token").get_to(hello.token);
    message.at("node").get_to(hello.node);
    message.at("host").get_to(hello.host);
  });
}

std::optional<NodeReport> node_report_from(std::string_view line) {
  return parsed<NodeReport>(line, [](const json& message, NodeReport& report) {
    NodeSummary& summary = report.summary;
    message.at("all_wait").get_to(summary.all_wait);
    message.at("progress").get_to(summary.progress);
    message.at("longest_step_s").get_to(summary.longest_step_s);
    message.at("fewest_waits").get_to(summary.fewest_waits);
    message.at("rank_behind").get_to(summary.rank_behind);
    for (const json& pace : message.at("paces")) {
      summary.paces.push_back({pace.at(0), pace.at(1), pace.at(2)});
    }
    message.at("phase").get_to(report.phase);
    message.at("object").get_to(report.object);
    message.at("failure_code").get_to(report.failure_code);
    message.at("has_left").get_to(report.has_left);
  });
}

std::optional<JobReport> job_report_from(std::string_view line) {
  return parsed<JobReport>(line, [](const json& message, JobReport& report) {
    message.at("longest_step_s").get_to(report.longest_step_s);
    message.at("failure_code").get_to(report.failure_code);
    message.at("has_left").get_to(report.has_left);
  });
}

}  // namespace tally::watchdog
