// SPDX-License-Identifier: Apache-2.0
// Metrics of one class against the others, and their averages over classes: pure functions of
// counts, shared by tasks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tally::metrics {

// A class against all others.
struct ClassCount {
  std::int64_t support = 0;    // units of the class
  std::int64_t predicted = 0;  // units predicted as it
  std::int64_t correct = 0;    // both
  std::int64_t all = 0;        // units there are
};

// part/whole; whole numbers but for F-beta of another beta than 1.
struct Ratio {
  double part = 0;
  double whole = 0;
  std::optional<double> value() const;  // none for 0/0
};

Ratio precision(const ClassCount& count);
Ratio recall(const ClassCount& count);
Ratio specificity(const ClassCount& count);
Ratio jaccard(const ClassCount& count);
Ratio f_beta(const ClassCount& count, double beta);
// One of them for each class.
std::vector<Ratio> ratios_of(std::span<const ClassCount> counts,
                             Ratio (*metric)(const ClassCount&));

// The numbers other than 1 of all names of these forms, in order of size.
std::vector<double> betas_asked(const std::vector<std::string>& names,
                                const std::vector<std::string>& forms);

enum class Average { macro, micro, weighted };
std::string_view name(Average average);

// Which classes a macro average leaves out.
enum class Absent { left_out, counted };

// 0/0 counts as 0. none where there is nothing to average.
std::optional<double> macro(std::span<const ClassCount> counts, std::span<const Ratio> ratios,
                            Absent absent);
Ratio micro(std::span<const Ratio> ratios);
std::optional<double> weighted(std::span<const ClassCount> counts, std::span<const Ratio> ratios);

}  // namespace tally::metrics
