// SPDX-License-Identifier: Apache-2.0
// Scores many cases of tagged sequences, for comparison with other packages: a JSON array on
// stdout.
//
//   score_tags CASES
//
// CASES is a JSON array of {"class_names", "labels", "predictions", "cuts"}: classes of the tokens
// of each sequence. The sequences are cut into states at `cuts`; the states are merged from the
// last on.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/metrics/metric_set.hpp>

#include "tags.hpp"

namespace {

using namespace tally;
using nlohmann::json;

json number(std::optional<double> value) { return value ? json(*value) : json(nullptr); }

json as_json(const metrics::Results& results) {
  json out{{"scored", results.counts.scored},
           {"metrics", json::object()},
           {"types", json::object()},
           {"per_class", json::array()},
           {"confusion", results.confusion}};
  for (const auto& metric : results.metrics) out["metrics"][metric.name] = number(metric.value);
  for (const auto& type : results.entity_types) {
    out["types"][type.type] = {
        {"support", type.support},       {"predicted", type.predicted},
        {"correct", type.correct},       {"precision", number(type.precision)},
        {"recall", number(type.recall)}, {"f1", number(type.f1)}};
  }
  for (const auto& of_class : results.per_class) {
    json values{{"support", of_class.support}};
    for (const auto& metric : of_class.values) values[metric.name] = number(metric.value);
    out["per_class"].push_back(values);
  }
  return out;
}

json score(const json& given) {
  const auto names = given.at("class_names").get<std::vector<std::string>>();
  metrics::TaggedSamples samples(names);
  for (std::size_t i = 0; i < given.at("labels").size(); ++i) {
    samples.add(given.at("labels")[i], given.at("predictions")[i]);
  }
  const metrics::MetricSet set({.task = "token-classification",
                                .num_classes = std::ssize(names),
                                .ignore_index = -100,
                                .names = {"all"},
                                .class_names = names});
  const auto cuts = given.at("cuts").get<std::vector<std::int64_t>>();
  exact::State merged(set.layout());
  for (std::size_t part = cuts.size() - 1; part-- > 0;) {
    exact::State state(set.layout());
    const std::span<const metrics::TokenClassificationRecord> all(samples.records);
    set.update(all.subspan(to_size(cuts[part]), to_size(cuts[part + 1] - cuts[part])), state);
    merged.merge(state);
  }
  return as_json(set.finalize(merged));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw Error(ErrorKind::usage, "one argument is needed");
    json out = json::array();
    for (const json& given : json::parse(read_file(argv[1], ErrorKind::usage, "cases"))) {
      out.push_back(score(given));
    }
    std::puts(out.dump().c_str());
  } catch (...) {
    const Error error = current_error();
    std::fprintf(stderr, "score_tags: %s\n", error.what());
    return exit_code(error.kind());
  }
}
