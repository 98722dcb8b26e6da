// Two evaluations of the same samples, compared sample by sample.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <tally/compare/paired_table.hpp>
#include <tally/metrics/intervals.hpp>

namespace tally::compare {

struct Options {
  std::vector<std::string> metrics = {};  // as MetricOptions::names
  std::int64_t replicates = 1000;         // of the bootstrap
  std::int64_t seed = 0;
  std::int64_t most_changes = 10;  // changed samples that are listed
};

enum class Side { a, b };

// Where the predictions come from, as their file says.
struct RunFacts {
  std::string path;  // as given
  std::string model;
  std::string model_sha256;
  std::string weights_sha256;      // empty: the model's own
  std::string predictions_digest;  // as in the report
};

struct MetricDifference {
  std::string name;
  bool less_is_better = false;
  std::optional<double> a = std::nullopt;  // none where undefined
  std::optional<double> b = std::nullopt;
  std::optional<double> difference = std::nullopt;           // b - a
  std::optional<metrics::Interval> interval = std::nullopt;  // of the difference, 95 %

  // The side for which the interval speaks: it holds no 0.
  std::optional<Side> better() const;
};

// A metric that is not compared, and why.
struct LeftOut {
  std::string metric;
  std::string reason;  // ends "metric 'x' …"
};

struct Prediction {
  std::int64_t predicted = 0;  // class; -1: none
  double confidence = 0;       // NaN where there is no prediction
};

struct Change {
  std::int64_t index = 0;  // global sample index
  std::int64_t label = 0;
  Prediction a, b;
};

// Scored samples that are predicted otherwise in B than in A.
struct Changes {
  std::int64_t right_to_wrong = 0;
  std::int64_t wrong_to_right = 0;
  std::int64_t wrong_to_other_wrong = 0;
  std::vector<Change> first;  // in the order of the samples

  std::int64_t total() const { return right_to_wrong + wrong_to_right + wrong_to_other_wrong; }
};

struct Comparison {
  std::string task;
  RunFacts a, b;
  std::string data_path;
  std::string data_identity;
  std::int64_t samples = 0;
  std::int64_t ignored = 0;
  std::string definitions;
  Options options;
  std::vector<std::string> class_names;  // empty if not known

  PairedTable table;
  std::vector<MetricDifference> metrics;  // in report order
  std::vector<LeftOut> left_out;
  Changes changes;
  std::vector<std::string> notes;  // one line each

  std::int64_t scored() const { return samples - ignored; }
};

// What can be said in the end, of accuracy if it is compared, else of the first metric.
struct Conclusion {
  std::optional<Side> better;  // none: no difference can be told
  std::string metric;
  std::string sentence;
};
Conclusion conclude(const Comparison& comparison);

// `a` and `b` are result folders or their predictions.h5. Error(usage): no results, a task that
// cannot be compared, a metric that is not known or that these columns cannot give. Error(dataset):
// damaged files, missing columns, results that are not of the same samples.
Comparison compare_runs(const std::filesystem::path& a, const std::filesystem::path& b,
                        const Options& options);

// For people, at most 120 columns; the last line is the conclusion.
std::vector<std::string> to_lines(const Comparison& comparison);
// As docs/formats.md says.
std::string to_json(const Comparison& comparison);

}  // namespace tally::compare
