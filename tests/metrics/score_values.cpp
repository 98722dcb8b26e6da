// SPDX-License-Identifier: Apache-2.0
// Scores many cases of raw arrays, for comparison with other packages: a JSON array on stdout.
//
//   score_values CASES VALUES
//
// CASES is a JSON array of {"rows", "outputs", "cuts", "batch", "definitions"}. VALUES holds each
// case's predictions and then its targets, float32 [rows, outputs], as numpy's tofile() writes
// them. The samples are cut into states at the rows `cuts`; the states are merged from the last on.
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <tally/base/error.hpp>
#include <tally/base/files.hpp>

#include "values.hpp"

namespace {

using namespace tally;
using nlohmann::json;

std::vector<float> read_floats(const char* path) {
  const auto bytes = read_file(path, ErrorKind::usage, "array");
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

json number(std::optional<double> value) { return value ? json(*value) : json(nullptr); }

json as_json(const metrics::Results& results) {
  json out{{"count", results.units.count},
           {"finite", results.counts.finite()},
           {"metrics", json::object()},
           {"per_output", json::array()}};
  for (const auto& metric : results.metrics) out["metrics"][metric.name] = number(metric.value);
  for (const auto& output : results.per_class) {
    json values{{"support", output.support}};
    for (const auto& metric : output.values) values[metric.name] = number(metric.value);
    out["per_output"].push_back(values);
  }
  return out;
}

json score(const json& given, metrics::Values values) {
  const metrics::MetricSet set(
      {.task = "regression",
       .num_classes = values.num_outputs,
       .names = {"all"},
       .definitions = metrics::definitions_from_name(given.at("definitions").get<std::string>())});
  const auto cuts = given.at("cuts").get<std::vector<std::int64_t>>();
  exact::State merged(set.layout());
  for (std::size_t part = cuts.size() - 1; part-- > 0;) {
    exact::State state(set.layout());
    add_values(set, values, cuts[part], cuts[part + 1] - cuts[part], given.at("batch"), state);
    merged.merge(state);
  }
  return as_json(set.finalize(merged));
}

json run(const char* cases_path, const char* values_path) {
  const json cases = json::parse(read_file(cases_path, ErrorKind::usage, "cases"));
  const std::vector<float> floats = read_floats(values_path);
  json out = json::array();
  auto at = floats.begin();
  for (const json& given : cases) {
    metrics::Values values{given.at("outputs"), {}, {}};
    const std::int64_t size = given.at("rows").get<std::int64_t>() * values.num_outputs;
    values.predictions.assign(at, at + size);
    values.targets.assign(at + size, at + 2 * size);
    at += 2 * size;
    out.push_back(score(given, std::move(values)));
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw Error(ErrorKind::usage, "two arguments are needed");
    std::puts(run(argv[1], argv[2]).dump().c_str());
  } catch (...) {
    const Error error = current_error();
    std::fprintf(stderr, "score_values: %s\n", error.what());
    return exit_code(error.kind());
  }
}
