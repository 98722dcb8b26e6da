// SPDX-License-Identifier: Apache-2.0
#include <tally/report/describe_report.hpp>

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/base/task_traits.hpp>

#include "json_metrics.hpp"
#include "number_format.hpp"

namespace tally::report {
namespace {

constexpr std::string_view kWhereReportsAre = "A run leaves report.json in its --output folder.";

// A report may come from elsewhere: control characters must not reach the terminal.
std::string text_at(const Json& json, const char* key) {
  return printable(json.at(key).get<std::string>());
}

std::optional<double> number_at(const Json& json, const char* key) {
  const Json& value = json.at(key);
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

std::string file_line(const char* what, const Json& file, const char* digest_name) {
  return format("{}: {} ({} bytes, {} {}…)", what, text_at(file, "path"),
                grouped(file.at("bytes").get<std::int64_t>()), digest_name,
                short_digest(text_at(file, digest_name)));
}

void add_inputs(const Json& inputs, std::vector<std::string>& lines) {
  lines.push_back(file_line("model", inputs.at("model"), "sha256"));
  if (inputs.contains("weights")) {
    const Json& weights = inputs.at("weights");
    // Weights in several files have no SHA-256 of a file, but one of all tensors.
    const bool is_one_file = !weights.at("sha256").is_null();
    lines.push_back(file_line("weights", weights, is_one_file ? "sha256" : "tensors_sha256"));
  }
  const Json& data = inputs.at("data");
  lines.push_back(file_line("data", data, "identity") + ", " + text_at(data, "integrity"));
}

// Adds how the model computed, which earlier reports do not say.
void add_form(const Json& environment, std::vector<std::string>& lines) {
  if (!environment.contains(kModelForm)) return;
  lines.push_back("form: " + text_at(environment, kModelForm));
}

void add_samples(const Json& samples, std::vector<std::string>& lines) {
  lines.push_back(
      format("samples: {} of {} evaluated, {} ignored, {}",
             grouped(samples.at("evaluated").get<std::int64_t>()),
             grouped(samples.at("total").get<std::int64_t>()),
             grouped(samples.at("ignored").get<std::int64_t>()),
             samples.at("exactly_once").get<bool>() ? "each exactly once" : "NOT exactly once"));
}

void add_metrics(const Json& metrics, std::vector<std::string>& lines) {
  for (const auto& [name, values] : metrics.items()) {
    lines.push_back(
        format("  {:<20}{:>12}", printable(name), value_text(number_at(values, "value"))));
  }
}

void add_digests(const Json& digests, std::vector<std::string>& lines) {
  lines.push_back("digest of the state: " + text_at(digests, "state"));
  if (!digests.at("predictions").is_null()) {
    lines.push_back("digest of the predictions: " + text_at(digests, "predictions"));
  }
  lines.push_back(format("digest class: {}{}", text_at(digests, "class"),
                         digests.at("comparable").get<bool>() ? "" : " (not comparable)"));
}

std::vector<std::string> lines_of(const Json& json) {
  std::vector<std::string> lines;
  const Json& tally = json.at("tally");
  lines.push_back(format("report of tally {} ({}), status {}", text_at(tally, "version"),
                         text_at(tally, "revision"), text_at(json, "status")));
  add_inputs(json.at("inputs"), lines);
  add_form(json.at("environment"), lines);
  add_samples(json.at("samples"), lines);
  add_metrics(json.at("metrics"), lines);
  add_digests(json.at("digests"), lines);
  lines.push_back(format("ranks: {}, wall time {}", json.at("ranks").get<std::size_t>(),
                         seconds_text(json.at("timing").at("wall_s").get<double>())));
  for (const auto& note : json.at("notes")) {
    lines.push_back("note: " + printable(note.get<std::string>()));
  }
  return lines;
}

// Reports of 0.1.0 do not name their texts, so that the traits of the task say which there may be.
std::vector<std::string> texts_of_task(std::string_view name) {
  std::vector<std::string> files;
  const TaskTraits* task = find_task_traits(name);
  if (task == nullptr) return files;
  for (const auto file : task->text_files) {
    if (!file.empty()) files.emplace_back(file);
  }
  return files;
}

// Keeps of a report only what is looked at here: what it says of classes, groups and ranks takes
// ten times as much memory as its text.
class ReportFilter {
 public:
  // nlohmann's parser asks for each event whether what follows is kept.
  bool keeps(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::key && depth == 1) section_ = parsed.get<std::string>();
    if (section_ == kRanks && event == Event::object_start && depth == 2) ++num_ranks_;
    if (event == Event::key && depth == 2) key_ = parsed.get<std::string>();
    const bool is_trace = section_ == "config" && (depth == 1 || key_ == "trace");
    const bool is_kept = depth == 0 || is_trace || std::ranges::count(kNeeded, section_) > 0;
    const bool is_end = event == Event::object_end || event == Event::array_end;
    if (is_kept && !is_end && ++num_kept_ > kMost) throw TooMany{};
    return is_kept;
  }
  std::size_t num_ranks() const { return num_ranks_; }

  // There are more keys and values than any run writes.
  struct TooMany {};

 private:
  static constexpr std::string_view kRanks = "ranks";
  static constexpr std::array<std::string_view, 11> kNeeded{
      "tally",   "status", "inputs", "environment", "samples",   "metrics",
      "digests", "timing", "notes",  "task",        "text_files"};
  // JSON that keeps the order of keys compares each with all before it, and the parser looks
  // through a whole list for each object in it.
  static constexpr std::size_t kMost = 4'000;

  std::string section_, key_;  // those that are open
  std::size_t num_kept_ = 0, num_ranks_ = 0;
};

// The parts that are looked at; "ranks" is how many there are.
Json parse_report(const std::vector<std::byte>& bytes) {
  ReportFilter filter;
  const auto keeps = [&](int depth, Json::parse_event_t event, const Json& parsed) {
    return filter.keeps(depth, event, parsed);
  };
  Json report = Json::parse(bytes.begin(), bytes.end(), keeps);
  if (report.is_object()) report["ranks"] = filter.num_ranks();
  return report;
}

}  // namespace

std::vector<std::string> describe_report(const std::filesystem::path& path) {
  const auto bytes = read_file(path, ErrorKind::usage, "report");
  const std::string shown = printable(path.string());
  try {
    const Json json = parse_report(bytes);
    // A comparison has the key "tally", too, and is told apart before its other keys are missed.
    if (json.at("tally").contains("compare_schema")) {
      throw Error(ErrorKind::usage, format("'{}' is a comparison, not the report of a run", shown),
                  "'tally compare' prints what the two results differ in.");
    }
    const int schema = json.at("tally").at("report_schema").get<int>();
    if (schema == kReportSchema) return lines_of(json);
    throw Error(
        ErrorKind::usage,
        format("report '{}' has report_schema {}, expected {}", shown, schema, kReportSchema),
        "Inspect it with the version of tally that wrote it.");
  } catch (const Json::parse_error& error) {
    throw Error(
        ErrorKind::usage,
        format("'{}' is no report of tally (it is no JSON from byte {} on)", shown, error.byte),
        kWhereReportsAre);
  } catch (const Json::exception&) {
    throw Error(ErrorKind::usage,
                format("'{}' is no report of tally (it is JSON with other keys)", shown),
                kWhereReportsAre);
  } catch (const ReportFilter::TooMany&) {
    throw Error(ErrorKind::usage,
                format("'{}' is no report of tally (it is JSON with too many keys)", shown),
                kWhereReportsAre);
  }
}

std::optional<ReportedFiles> files_of_report(const std::filesystem::path& path) {
  try {
    const Json report = parse_report(read_file(path, ErrorKind::usage, "report"));
    // No answer means that no run of tally wrote the file: callers then leave it alone.
    if (!report.at("tally").at("report_schema").is_number_integer()) return std::nullopt;
    ReportedFiles files;
    files.trace = report.value(Json::json_pointer("/config/trace"), std::string());
    files.predictions = !report.at("digests").at("predictions").is_null();
    files.inputs_digest = report.at("digests").value("inputs", std::string());
    if (report.contains("text_files")) {
      report.at("text_files").get_to(files.texts);
    } else if (files.predictions) {
      files.texts = texts_of_task(report.at("task").get<std::string>());
    }
    return files;
  } catch (const Error&) {
    return std::nullopt;
  } catch (const Json::exception&) {
    return std::nullopt;
  } catch (const ReportFilter::TooMany&) {
    return std::nullopt;
  }
}

}  // namespace tally::report
