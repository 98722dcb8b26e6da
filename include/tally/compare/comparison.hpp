// SPDX-License-Identifier: Apache-2.0
// Compares two evaluations of the same samples, sample by sample.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tally/compare/changes.hpp>
#include <tally/compare/contingency_table.hpp>
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
struct RunInfo {
  std::string path;  // as given
  std::string model;
  std::string model_sha256;
  std::string weights_sha256;      // empty: the model's own
  std::string predictions_digest;  // as in the report
  std::string data = {};           // path of the data set
  std::string data_identity = {};
};

struct MetricDifference {
  std::string name;
  bool less_is_better = false;
  std::optional<double> a = std::nullopt;  // none where undefined
  std::optional<double> b = std::nullopt;
  std::optional<double> difference = std::nullopt;           // b - a
  std::optional<metrics::Interval> interval = std::nullopt;  // of the difference, 95 %
  // False where outputs that are not finite leave other samples out of A's than of B's.
  bool of_same_samples = true;

  // The side for which the interval speaks: it holds no 0, and is of the same samples.
  std::optional<Side> better() const;
};

// A metric that is not compared, and why.
struct LeftOut {
  std::string metric;
  std::string reason;  // what follows "metric 'x' " in a sentence
};

// Samples by whether A and B are right about them, and the metric that is the share of right ones:
// "accuracy", or "exact_match" where a sample has several labels.
struct Outcomes {
  std::string metric;
  ContingencyTable table;
};

// The samples that both runs are of.
struct ComparedSamples {
  std::string path;  // of the data set
  std::string identity;
  std::int64_t count = 0;
  std::int64_t ignored = 0;
  std::vector<std::string> class_names;  // empty if not known
  // Of those that are listed, by index, as far as they are known: the caller's to fill in.
  std::map<std::int64_t, std::string> names = {};

  std::int64_t scored() const { return count - ignored; }
};

struct Comparison {
  std::string task;
  RunInfo a, b;
  ComparedSamples samples;
  std::string definitions;
  Options options;

  std::optional<Outcomes> outcomes;       // none where no sample is right or wrong (regression)
  std::vector<MetricDifference> metrics;  // in report order
  std::vector<LeftOut> left_out;
  Changes changes;
  std::vector<std::string> notes;  // one line each
};

// What can be said in the end, of the metric of the outcomes if it is compared, else of the first
// metric.
struct Conclusion {
  std::optional<Side> better;  // none: no difference can be told
  std::string metric;
  std::string sentence;
};
Conclusion conclude(const Comparison& comparison);

// `a` and `b` are result folders or their predictions.h5. Error(usage): no results, a task that
// cannot be compared, a metric that is not known or that these columns cannot give. Error(dataset):
// damaged files, missing columns, results that are not of the same samples. Samples that data sets
// with names and checksums hold in other preparations are the same; a note says so.
Comparison compare_runs(const std::filesystem::path& a, const std::filesystem::path& b,
                        const Options& options);

}  // namespace tally::compare
