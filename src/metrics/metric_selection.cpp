// SPDX-License-Identifier: Apache-2.0
#include "metric_selection.hpp"

#include <algorithm>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/nearest_word.hpp>
#include <tally/base/printable.hpp>
#include <tally/metrics/name_patterns.hpp>

namespace tally::metrics {
namespace {

constexpr std::string_view kStandard = "standard";
constexpr std::string_view kAll = "all";
constexpr std::string_view kNone = "none";  // adds nothing; no name at all is the standard set

bool is_known(std::string_view name, const std::vector<FamilyEntry>& families) {
  return std::ranges::any_of(families, [&](const FamilyEntry& family) {
    return std::ranges::any_of(family.metrics, [&](const MetricDescription& metric) {
      // The form itself is no metric.
      return is_form(metric.name) ? number_in(name, metric.name).has_value() : metric.name == name;
    });
  });
}

std::optional<std::string> obstacle_of(const FamilyEntry& family, const MetricDescription& metric,
                                       const MetricOptions& options, std::string_view name) {
  if (family.obstacle != nullptr) {
    if (auto obstacle = family.obstacle(options, name)) return obstacle;
  }
  if (lacks_scores(metric, options)) return std::string(kNeedsScores);
  return std::nullopt;
}

[[noreturn]] void refuse_for(const std::string& obstacle, std::string_view name) {
  throw Error(ErrorKind::usage, format("metric '{}' {}", name, obstacle),
              "Leave it out of --metrics.");
}

// Returns the digits and points in a name, "0.90" in "precision_at_recal_0.90"; none if they are in
// several places, as in "1e-3".
std::optional<std::string_view> numeral_in(std::string_view name) {
  constexpr std::string_view kOfNumbers = ".0123456789";
  const auto from = name.find_first_of(kOfNumbers);
  if (from == std::string_view::npos) return std::nullopt;
  const auto to = std::min(name.find_first_not_of(kOfNumbers, from), name.size());
  if (name.find_first_of(kOfNumbers, to) != std::string_view::npos) return std::nullopt;
  return name.substr(from, to - from);
}

// Says what has to stand in the place of the mark: "a whole number from 1 in place of <k>".
std::string wanted_in(std::string_view form) {
  const auto place = number_mark(form);
  return format("a {} in place of {}", place == "<k>" ? "whole number from 1" : "number above 0",
                place);
}

// Finds the message that helps most with a name that is not known: another spelling of a known one,
// then the nearest known name, then all of them.
class Refusal {
 public:
  Refusal(const std::string& name, const MetricOptions& options,
          const std::vector<FamilyEntry>& families)
      : name_(name), options_(options), families_(families) {}

  [[noreturn]] void raise() const {
    refuse_spelling();
    if (known().empty()) {
      throw Error(ErrorKind::usage, format("the task {} computes no metrics", options_.task),
                  "Leave --metrics out.");
    }
    throw Error(ErrorKind::usage,
                format("metric '{}' is not known for the task {}", printable(name_), options_.task),
                hint());
  }

 private:
  template <class Visit>  // visit(family, metric)
  void for_each_metric(const Visit& visit) const {
    for (const FamilyEntry& family : families_) {
      for (const MetricDescription& metric : family.metrics) visit(family, metric);
    }
  }

  void refuse_spelling() const {
    for_each_metric([&](const FamilyEntry& family, const MetricDescription& metric) {
      const auto right = well_spelled(name_, metric.name);
      if (!right) return;
      if (const auto obstacle = obstacle_of(family, metric, options_, *right))
        refuse_for(*obstacle, *right);
      throw Error(ErrorKind::usage, format("metric '{}' is written '{}'", name_, *right));
    });
  }

  // Returns the names that may have been meant. Forms carry the number of the misspelt name, so
  // that what is proposed can be used as it is.
  std::vector<std::string> candidates() const {
    std::vector<std::string> names;
    const auto numeral = numeral_in(name_);
    for_each_metric([&](const FamilyEntry& family, const MetricDescription& metric) {
      const auto form = metric.name;
      const auto right = numeral ? well_spelled(filled(form, *numeral), form) : std::nullopt;
      if (right && !obstacle_of(family, metric, options_, *right)) names.push_back(*right);
      names.emplace_back(form);
    });
    // A short word is one letter away from these by accident: "nll".
    if (name_.size() < 4) return names;
    for (const std::string_view several : {kStandard, kAll, kNone}) names.emplace_back(several);
    return names;
  }

  std::string hint() const {
    const auto near = nearest_word(name_, candidates());
    if (!near) {
      return format("Known: {}; {} and {} stand for several.", fmt::join(known(), ", "), kStandard,
                    kAll);
    }
    if (is_form(*near)) return format("'{}' has {}.", *near, wanted_in(*near));
    return format("Did you mean '{}'? 'tally evaluate --help' lists all.", *near);
  }

  std::vector<std::string_view> known() const {
    std::vector<std::string_view> names;
    for_each_metric(
        [&](const FamilyEntry&, const MetricDescription& metric) { names.push_back(metric.name); });
    return names;
  }

  const std::string& name_;
  const MetricOptions& options_;
  const std::vector<FamilyEntry>& families_;
};

void check_names(const MetricOptions& options, const std::vector<FamilyEntry>& families) {
  for (const std::string& name : options.names) {
    if (name == kStandard || name == kAll || name == kNone || is_known(name, families)) continue;
    Refusal(name, options, families).raise();
  }
}

// Adds a name once. What was not asked for by name is left out where it has no meaning; what was
// asked for is refused then.
class Wanted {
 public:
  explicit Wanted(const MetricOptions& options) : options_(options), with_scores_(options) {
    with_scores_.has_scores = true;
  }

  void add(const FamilyEntry& family, const MetricDescription& metric, std::string_view name,
           bool asked_by_name) {
    const auto obstacle = obstacle_of(family, metric, options_, name);
    if (obstacle && asked_by_name) refuse_for(*obstacle, name);
    if (!obstacle) return add_once(name, made.names);
    if (!obstacle_of(family, metric, with_scores_, name)) add_once(name, made.without_scores);
  }

  WantedMetrics made;

 private:
  static void add_once(std::string_view name, std::vector<std::string>& names) {
    if (!contains(names, name)) names.emplace_back(name);
  }

  const MetricOptions& options_;
  MetricOptions with_scores_;
};

}  // namespace

bool lacks_scores(const MetricDescription& metric, const MetricOptions& options) {
  if (options.has_scores) return false;
  return metric.needs_scores || (metric.needs_label && options.has_label_sets);
}

WantedMetrics wanted_metrics(const MetricOptions& options,
                             const std::vector<FamilyEntry>& families) {
  check_names(options, families);
  const bool all = contains(options.names, kAll);
  const bool standard = all || options.names.empty() || contains(options.names, kStandard);
  Wanted wanted(options);
  // The registry gives the order, not the command line, so that reports with the same metrics list
  // them alike.
  for (const FamilyEntry& family : families) {
    for (const MetricDescription& metric : family.metrics) {
      const bool has_number = is_form(metric.name);
      // A form has no number of its own, so only its standard form, if it has one, can be part of
      // "standard" and "all".
      const auto usual = has_number ? metric.standard_form : metric.name;
      if (!usual.empty() && ((standard && metric.standard) || all))
        wanted.add(family, metric, usual, false);
      for (const std::string& name : options.names) {
        const bool is_meant = has_number ? number_in(name, metric.name).has_value() : name == usual;
        if (is_meant) wanted.add(family, metric, name, true);
      }
    }
  }
  return wanted.made;
}

}  // namespace tally::metrics
