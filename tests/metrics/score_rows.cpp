// SPDX-License-Identifier: Apache-2.0
// Scores many cases of raw arrays, for comparison with other packages.
//
//   score_rows ARRAYS CASES
//
// ARRAYS is one binary file. Each line of CASES is a JSON object: `scores` and `labels`, the bytes
// in ARRAYS before their float32 [rows, classes] and int64 [rows]; `rows`, `classes`, `kind`,
// `metrics`; `parts`, the rows of each part: one state a part, merged; and perhaps `definitions`,
// `bins`, `label_smoothing`, `class_weights`, `ignore_index`. One JSON object a case comes out.
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/multiclass_pass.hpp>
#include <tally/metrics/multiclass_statistics.hpp>

namespace {

using namespace tally;
using nlohmann::json;

template <class T>
std::vector<T> array_at(std::string_view arrays, std::size_t offset, std::int64_t count) {
  std::vector<T> values(to_size(count));
  const auto bytes = arrays.substr(offset).substr(0, values.size() * sizeof(T));
  if (bytes.size() != values.size() * sizeof(T)) {
    throw Error(ErrorKind::usage, "an array goes beyond its file");
  }
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

json number(std::optional<double> value) { return value ? json(*value) : json(nullptr); }

json pair_of(const std::optional<metrics::Interval>& interval) {
  return interval ? json::array({interval->low, interval->high}) : json(nullptr);
}

// Large matrices hold little else than zeros.
template <class T>
json without_zeros(const std::vector<T>& values) {
  json entries = json::array();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) entries.push_back({i, values[i]});
  }
  return entries;
}

json classes_json(const metrics::Results& results) {
  json classes{{"support", json::array()}};
  for (const auto& of_class : results.per_class) {
    classes["support"].push_back(of_class.support);
    for (const auto& metric : of_class.values) {
      classes[metric.name].push_back(number(metric.value));
    }
  }
  return classes;
}

json as_json(const metrics::Results& results) {
  json out{{"count", results.units.count},
           {"scored", results.counts.scored},
           {"ignored", results.counts.ignored},
           {"tied", results.counts.tied.value()},
           {"without_scores", results.counts.without_scores},
           {"metrics", json::object()},
           {"intervals", json::object()},
           {"tie_bounds", json::object()},
           {"reliability", json::array()},
           {"confusion", without_zeros(results.confusion)},
           {"per_class", classes_json(results)}};
  for (const auto& metric : results.metrics) {
    out["metrics"][metric.name] = number(metric.value);
    out["intervals"][metric.name] = pair_of(metric.interval);
  }
  for (const auto& bounds : results.tie_bounds) {
    out["tie_bounds"][bounds.metric] = {number(bounds.pessimistic), number(bounds.optimistic)};
  }
  for (const auto& bin : results.reliability) {
    out["reliability"].push_back({bin.low, bin.high, bin.count, bin.correct});
  }
  for (const auto& shares : results.confusion_shares) {
    out[shares.name] = without_zeros(shares.values);
  }
  return out;
}

metrics::MetricOptions options_of(const json& given) {
  metrics::MetricOptions options{.num_classes = given.at("classes")};
  options.names = given.at("metrics");
  options.definitions = metrics::definitions_from_name(given.value("definitions", "torchmetrics"));
  options.calibration_bins = given.value("bins", options.calibration_bins);
  options.label_smoothing = given.value("label_smoothing", 0.0);
  options.class_weights = given.value("class_weights", options.class_weights);
  if (given.contains("ignore_index")) {
    options.ignore_index = given.at("ignore_index").get<std::int64_t>();
  }
  return options;
}

json run(const json& given, std::string_view arrays) {
  const metrics::MetricSet set(options_of(given));
  const std::int64_t rows = given.at("rows");
  const std::int64_t classes = given.at("classes");
  auto scores = array_at<float>(arrays, given.at("scores"), rows * classes);
  const auto labels = array_at<std::int64_t>(arrays, given.at("labels"), rows);
  const auto rules = metrics::score_rules(
      set.options(), metrics::output_kind_from_name(given.at("kind").get<std::string>()));

  exact::State merged(set.layout());
  metrics::RowStatistics stats;
  std::int64_t first = 0;
  for (const std::int64_t count : given.at("parts")) {
    const auto slice = std::span(labels).subspan(to_size(first), to_size(count));
    const auto view =
        contiguous_view(scores.data() + first * classes, DType::f32, {count, classes});
    compute_multiclass_statistics(view, first, slice, rules, stats);
    if (stats.wrong_kind_row) throw Error(ErrorKind::usage, "scores of another kind");
    exact::State state(set.layout());
    set.update(stats.rows, state);
    merged.merge(state);
    first += count;
  }
  return as_json(set.finalize(merged));
}

std::string text_of(const char* path) {
  const auto bytes = read_file(path, ErrorKind::usage, "input");
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw Error(ErrorKind::usage, "two arguments are needed");
    const std::string arrays = text_of(argv[1]);
    std::istringstream cases(text_of(argv[2]));
    for (std::string line; std::getline(cases, line);) {
      std::puts(run(json::parse(line), arrays).dump().c_str());
    }
  } catch (...) {
    const Error error = current_error();
    std::fprintf(stderr, "score_rows: %s\n", error.what());
    return exit_code(error.kind());
  }
}
