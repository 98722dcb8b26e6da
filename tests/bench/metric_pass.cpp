// SPDX-License-Identifier: Apache-2.0
// Times the metric pass on the CPU: what a run does with each batch of scores.
//
//   metric_pass ARRAYS ROWS CLASSES BATCH PASSES METRIC[,METRIC…]
//
// ARRAYS holds scores, float32 [ROWS, CLASSES], then labels, int64 [ROWS]. Prints the nanoseconds
// of processor time per sample of each pass over all rows, one a line.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
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

struct Samples {
  std::int64_t classes = 0;
  std::vector<float> scores;
  std::vector<std::int64_t> labels;
};

Samples read_samples(const char* path, std::int64_t rows, std::int64_t classes) {
  const auto bytes = read_file(path, ErrorKind::usage, "arrays");
  Samples samples{classes, std::vector<float>(to_size(rows * classes)),
                  std::vector<std::int64_t>(to_size(rows))};
  const std::size_t of_scores = samples.scores.size() * sizeof(float);
  const std::size_t of_labels = samples.labels.size() * sizeof(std::int64_t);
  if (bytes.size() != of_scores + of_labels) {
    throw Error(ErrorKind::usage, "the arrays have another size");
  }
  std::memcpy(samples.scores.data(), bytes.data(), of_scores);
  std::memcpy(samples.labels.data(), bytes.data() + of_scores, of_labels);
  return samples;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream words(list);
  for (std::string name; std::getline(words, name, ',');) names.push_back(name);
  return names;
}

double ns_per_sample(Samples& samples, const metrics::MetricSet& set, std::int64_t batch) {
  const auto rules = metrics::score_rules(set.options(), metrics::OutputKind::logits);
  const auto rows = std::ssize(samples.labels);
  exact::State state(set.layout());
  metrics::RowStatistics stats;
  const std::clock_t start = std::clock();
  for (std::int64_t first = 0; first < rows; first += batch) {
    const std::int64_t count = std::min(batch, rows - first);
    const auto labels = std::span(samples.labels).subspan(to_size(first), to_size(count));
    const auto scores = contiguous_view(samples.scores.data() + first * samples.classes, DType::f32,
                                        {count, samples.classes});
    compute_multiclass_statistics(scores, first, labels, rules, stats);
    set.update(stats.rows, state);
  }
  return static_cast<double>(std::clock() - start) * (1e9 / CLOCKS_PER_SEC) /
         static_cast<double>(rows);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 7) throw Error(ErrorKind::usage, "six arguments are needed");
    const std::int64_t classes = std::stoll(argv[3]);
    Samples samples = read_samples(argv[1], std::stoll(argv[2]), classes);
    const metrics::MetricSet set({.num_classes = classes, .names = split(argv[6])});
    for (int pass = 0; pass < std::stoi(argv[5]); ++pass) {
      std::printf("%.1f\n", ns_per_sample(samples, set, std::stoll(argv[4])));
    }
  } catch (...) {
    const Error error = current_error();
    std::fprintf(stderr, "metric_pass: %s\n", error.what());
    return exit_code(error.kind());
  }
}
