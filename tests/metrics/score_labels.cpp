// SPDX-License-Identifier: Apache-2.0
// Scores raw arrays of the tasks binary and multilabel, for comparison with other packages.
//
//   score_labels FOLDER
//
// FOLDER/cases.json lists cases: {"arrays", "task", "kind", "classes", "columns", "rows", "parts",
// "bins", "definitions": names, "threshold", "ignore_index": number or null, "metrics": names}. The
// float32 scores [rows, columns] lie in FOLDER/<arrays>.scores and the targets, int64 [rows] or
// uint8 [rows, classes], in FOLDER/<arrays>.targets, as numpy's tofile() writes them. The samples
// are cut into `parts` states, which are merged. On stdout: a JSON array with an object per case,
// which has one under the name of each of its definitions.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/multilabel_pass.hpp>

namespace {

using namespace tally;
using nlohmann::json;

json number(std::optional<double> value) { return value ? json(*value) : json(nullptr); }

json as_json(const metrics::Results& results) {
  json out{{"count", results.units.count},      {"scored", results.counts.scored},
           {"ignored", results.counts.ignored}, {"labels_scored", results.counts.labels_scored},
           {"confusion", results.confusion},    {"metrics", json::object()},
           {"per_class", json::array()}};
  for (const auto& shares : results.confusion_shares) out[shares.name] = shares.values;
  for (const auto& metric : results.metrics) out["metrics"][metric.name] = number(metric.value);
  for (const auto& values : results.per_class) {
    json one{{"support", values.support}, {"predicted", values.predicted}};
    for (const auto& metric : values.values) one[metric.name] = number(metric.value);
    out["per_class"].push_back(std::move(one));
  }
  return out;
}

metrics::MetricOptions options_of(const json& test, const std::string& definitions) {
  metrics::MetricOptions options{.task = test["task"],
                                 .num_classes = test["classes"],
                                 .names = test["metrics"],
                                 .definitions = metrics::definitions_from_name(definitions),
                                 .calibration_bins = test["bins"],
                                 .threshold = test["threshold"]};
  if (!test["ignore_index"].is_null()) options.ignore_index = test["ignore_index"];
  return options;
}

// Rows [first, first + count) of an array.
TensorView rows_of(std::string& bytes, DType dtype, const Shape& row, std::int64_t first,
                   std::int64_t count) {
  Shape shape{count};
  shape.insert(shape.end(), row.begin(), row.end());
  return contiguous_view(bytes.data() + first * num_elements(row) * size_bytes(dtype), dtype,
                         shape);
}

json run(const json& test, const std::string& definitions, std::string scores,
         std::string targets) {
  const metrics::MetricSet set(options_of(test, definitions));
  const auto kind = metrics::output_kind_from_name(std::string(test["kind"]));
  const metrics::LabelRules rules = label_rules(set.options(), kind);
  const bool is_binary = test["task"] == "binary";
  const std::int64_t size = test["rows"];
  const std::int64_t parts = test["parts"];
  const Shape target_row = is_binary ? Shape{} : Shape{test["classes"].get<std::int64_t>()};
  exact::State merged(set.layout());
  metrics::LabelStatistics stats;
  for (std::int64_t part = parts; part-- > 0;) {
    const std::int64_t first = size * part / parts;
    const std::int64_t count = size * (part + 1) / parts - first;
    compute_multilabel_statistics(
        rows_of(scores, DType::f32, {test["columns"]}, first, count),
        rows_of(targets, is_binary ? DType::i64 : DType::u8, target_row, first, count), first,
        count, rules, stats);
    exact::State state(set.layout());
    set.update(stats.view(), state);
    merged.merge(state);
  }
  return as_json(set.finalize(merged));
}

json run_all(const std::filesystem::path& folder) {
  const auto read = [&](const std::string& name) {
    const auto bytes = read_file(folder / name, ErrorKind::usage, "array");
    std::string text(bytes.size(), '\0');
    std::memcpy(text.data(), bytes.data(), bytes.size());
    return text;
  };
  json found = json::array();
  for (const json& test : json::parse(read("cases.json"))) {
    const std::string scores = read(test["arrays"].get<std::string>() + ".scores");
    const std::string targets = read(test["arrays"].get<std::string>() + ".targets");
    json& one = found.emplace_back();
    for (const std::string definitions : test["definitions"]) {
      one[definitions] = run(test, definitions, scores, targets);
    }
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw Error(ErrorKind::usage, "one argument is needed");
    std::puts(run_all(argv[1]).dump().c_str());
  } catch (...) {
    const Error error = current_error();
    std::fprintf(stderr, "score_labels: %s\n", error.what());
    return exit_code(error.kind());
  }
}
