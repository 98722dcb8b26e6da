// The figures of a run, ready for a report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tally::metrics {

struct MetricValue {
  std::string name;             // "precision_macro"
  std::optional<double> value;  // a fraction, not a percentage; none where it is undefined
};

struct ClassFigures {
  std::int64_t index = 0;
  std::int64_t support = 0;    // samples of this class
  std::int64_t predicted = 0;  // samples predicted as this class
  std::int64_t correct = 0;
  std::optional<double> precision, recall, f1;  // none where 0/0
};

struct Results {
  // Coverage as the metric pass saw it: ignored samples are counted too. Sums modulo 2^64.
  std::int64_t count = 0;
  std::uint64_t index_sum = 0;
  std::uint64_t index_mix = 0;

  std::int64_t scored = 0;
  std::int64_t ignored = 0;
  std::int64_t tied = 0;  // scored samples whose true class shares its value with another class
  std::vector<MetricValue> metrics;
  std::vector<ClassFigures> per_class;
  std::vector<std::int64_t> confusion;  // [classes, classes] row = true class; empty if not kept
  std::int64_t num_classes = 0;
};

}  // namespace tally::metrics
