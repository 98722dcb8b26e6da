// Scores raw arrays, for comparison with other packages: one JSON object on stdout.
//
//   score_rows SCORES LABELS CLASSES KIND IGNORE|none PARTS
//
// SCORES is float32 [N, CLASSES], LABELS int64 [N], as numpy's tofile() writes them. The samples
// are cut into PARTS states, which are merged.
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/row_facts.hpp>

namespace {

using namespace tally;
using nlohmann::json;

template <class T>
std::vector<T> read_array(const char* path) {
  const auto bytes = read_file(path, ErrorKind::usage, "array");
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

json number(std::optional<double> value) { return value ? json(*value) : json(nullptr); }

json as_json(const metrics::Results& results) {
  json out{{"count", results.count},         {"scored", results.scored},
           {"ignored", results.ignored},     {"tied", results.tied},
           {"confusion", results.confusion}, {"metrics", json::object()},
           {"per_class", json::array()}};
  for (const auto& metric : results.metrics) out["metrics"][metric.name] = number(metric.value);
  for (const auto& figures : results.per_class) {
    out["per_class"].push_back({{"support", figures.support},
                                {"precision", number(figures.precision)},
                                {"recall", number(figures.recall)},
                                {"f1", number(figures.f1)}});
  }
  return out;
}

json run(char** argv) {
  auto scores = read_array<float>(argv[1]);
  const auto labels = read_array<std::int64_t>(argv[2]);
  metrics::MetricOptions options{.num_classes = std::stoll(argv[3])};
  const auto kind = metrics::output_kind_from_name(argv[4]);
  if (std::string(argv[5]) != "none") options.ignore_index = std::stoll(argv[5]);
  const std::int64_t parts = std::stoll(argv[6]);

  const metrics::MetricSet set(options);
  exact::State merged(set.layout());
  metrics::RowFacts facts;
  const auto size = static_cast<std::int64_t>(labels.size());
  for (std::int64_t part = parts; part-- > 0;) {
    const std::int64_t first = size * part / parts;
    const std::int64_t count = size * (part + 1) / parts - first;
    const auto slice = std::span(labels).subspan(to_size(first), to_size(count));
    examine_rows(contiguous_view(scores.data() + first * options.num_classes, DType::f32,
                                 {count, options.num_classes}),
                 slice, options.ignore_index, kind, facts);
    exact::State state(set.layout());
    set.update(first, slice, facts, state);
    merged.merge(state);
  }
  return as_json(set.finalize(merged));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 7) throw Error(ErrorKind::usage, "six arguments are needed");
    std::puts(run(argv).dump().c_str());
  } catch (...) {
    const Error error = current_error();
    std::fprintf(stderr, "score_rows: %s\n", error.what());
    return exit_code(error.kind());
  }
}
