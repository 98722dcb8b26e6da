// SPDX-License-Identifier: Apache-2.0
#include "leaderboard_text.hpp"

#include <stdexcept>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include <tally/base/format.hpp>

namespace tally::watch {
namespace {

// Keys stay in the order of the documentation.
using Json = nlohmann::ordered_json;

// The library writes null for a number that is not finite.
Json number_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

// A path need not be UTF-8, and must not stop the record.
std::string text_of(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// get() would cut off a fraction and wrap what is too large.
std::int64_t integer_of(const Json& json) {
  const bool fits = json.is_number_unsigned()
                        ? std::in_range<std::int64_t>(json.get<std::uint64_t>())
                        : json.is_number_integer();
  if (!fits) throw std::runtime_error(format("{} is no whole number", text_of(json, -1)));
  return json.get<std::int64_t>();
}

std::optional<double> number_or_none(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

Json step_json(const Checkpoint& checkpoint) {
  return checkpoint.step ? Json(*checkpoint.step) : Json();
}

Json metric_json(const Estimate& metric) {
  Json json = {{"value", number_or_null(metric.value)},
               {"low", number_or_null(metric.low)},
               {"high", number_or_null(metric.high)}};
  if (!metric.method.empty()) json["method"] = metric.method;
  return json;
}

Estimate metric_of(const Json& json) {
  return {number_or_none(json.at("value")), number_or_none(json.at("low")),
          number_or_none(json.at("high")), json.value("method", std::string())};
}

void read_evaluation(const Json& json, Entry& entry) {
  entry.samples = integer_of(json.at("samples"));
  for (const auto& [name, metric] : json.at("metrics").items()) {
    entry.metrics.emplace_back(name, metric_of(metric));
  }
  entry.state_digest = json.at("state_digest").get<std::string>();
  entry.weights_sha256 = json.at("weights_sha256").get<std::string>();
  entry.seconds = json.at("seconds").get<double>();
  entry.result = json.at("result").get<std::string>();
}

Json standing_json(const Entry* entry, const std::string& monitor) {
  if (!entry) return {};
  const Estimate* found = watch::metric_of(*entry, monitor);
  const Estimate metric = found ? *found : Estimate();
  return {{"step", step_json(entry->checkpoint)},    {"name", entry->checkpoint.name},
          {"path", entry->checkpoint.path.string()}, {"value", number_or_null(metric.value)},
          {"low", number_or_null(metric.low)},       {"high", number_or_null(metric.high)}};
}

Status status_of(const std::string& text) {
  if (text == "evaluated") return Status::evaluated;
  if (text == "broken") return Status::broken;
  throw std::runtime_error(format("its status is '{}'", text));
}

}  // namespace

std::string line_of(const Entry& entry) {
  const Checkpoint& checkpoint = entry.checkpoint;
  const bool is_evaluated = entry.status == Status::evaluated;
  Json json = {{"status", is_evaluated ? "evaluated" : "broken"},
               {"step", step_json(checkpoint)},
               {"name", checkpoint.name},
               {"path", checkpoint.path.string()},
               {"bytes", checkpoint.bytes},
               {"modified_ns", checkpoint.modified_ns},
               {"time", entry.time}};
  if (is_evaluated) {
    json["samples"] = entry.samples;
    json["metrics"] = Json::object();
    for (const auto& [name, metric] : entry.metrics) json["metrics"][name] = metric_json(metric);
    json["state_digest"] = entry.state_digest;
    json["weights_sha256"] = entry.weights_sha256;
    json["seconds"] = entry.seconds;
    json["result"] = entry.result;
  } else {
    // The digest says that the tensors could be read: after a restart such a checkpoint is not
    // tried anew.
    json["reason"] = entry.reason;
    if (!entry.weights_sha256.empty()) json["weights_sha256"] = entry.weights_sha256;
  }
  return text_of(json, -1);
}

Entry entry_of(std::string_view line) {
  const Json json = Json::parse(line);
  Entry entry;
  entry.status = status_of(json.at("status").get<std::string>());
  const Json& step = json.at("step");
  entry.checkpoint = {step.is_null() ? std::nullopt : std::optional(integer_of(step)),
                      json.at("name").get<std::string>(), json.at("path").get<std::string>(),
                      integer_of(json.at("bytes")), integer_of(json.at("modified_ns"))};
  entry.time = json.at("time").get<std::string>();
  if (entry.status == Status::evaluated) {
    read_evaluation(json, entry);
  } else {
    entry.reason = json.at("reason").get<std::string>();
    entry.weights_sha256 = json.value("weights_sha256", std::string());
  }
  return entry;
}

std::string stop_text(const Verdict& verdict, const StopSettings& settings, std::string_view time) {
  const Json json = {{"stop", verdict.stop},
                     {"reason", verdict.reason},
                     {"time", time},
                     {"monitor", settings.monitor},
                     {"mode", name(settings.mode)},
                     {"patience", settings.patience},
                     {"min_delta", settings.min_delta},
                     {"significant", settings.significant},
                     {"evaluated", verdict.num_evaluated},
                     {"best", standing_json(verdict.best, settings.monitor)},
                     {"last", standing_json(verdict.last, settings.monitor)}};
  return text_of(json, 2) + "\n";
}

namespace {

// Spreadsheets take a text that begins so for a formula, which may start programs, unless there is
// an apostrophe before it (CWE-1236; OWASP, "CSV Injection"). Numbers do not come here.
bool looks_like_formula(std::string_view text) { return text.find_first_of("=+-@\t\r") == 0; }

std::string cell(std::string_view text) {
  if (looks_like_formula(text)) return cell("'" + std::string(text));
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

// The fewest digits that give the same number when they are read; empty for none.
template <class Number>
std::string cell(std::optional<Number> number) {
  return number ? format("{}", *number) : std::string();
}

std::string line_of(const std::vector<std::string>& cells) {
  return format("{}\n", fmt::join(cells, ","));
}

}  // namespace

std::string header_of(const std::vector<std::string>& metrics) {
  std::vector<std::string> cells = {"step", "name"};
  for (const std::string& metric : metrics) {
    for (const char* suffix : {"", "_low", "_high"}) cells.push_back(cell(metric + suffix));
  }
  cells.insert(cells.end(), {"samples", "seconds", "state_digest", "time"});
  return line_of(cells);
}

std::string row_of(const Entry& entry, const std::vector<std::string>& metrics) {
  std::vector<std::string> cells = {cell(entry.checkpoint.step), cell(entry.checkpoint.name)};
  for (const std::string& metric : metrics) {
    const Estimate* found = metric_of(entry, metric);
    const Estimate estimate = found ? *found : Estimate();
    for (const auto& number : {estimate.value, estimate.low, estimate.high}) {
      cells.push_back(cell(number));
    }
  }
  cells.insert(cells.end(), {format("{}", entry.samples), format("{}", entry.seconds),
                             cell(entry.state_digest), cell(entry.time)});
  return line_of(cells);
}

}  // namespace tally::watch
