#include "wanted.hpp"

#include <algorithm>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/nearest_word.hpp>
#include <tally/base/printable.hpp>
#include <tally/metrics/names.hpp>

namespace tally::metrics {
namespace {

constexpr std::string_view kStandard = "standard";
constexpr std::string_view kAll = "all";
constexpr std::string_view kNone = "none";  // adds nothing; no name at all is the standard set

bool is_known(std::string_view name, const std::vector<FamilyEntry>& families) {
  return std::ranges::any_of(families, [&](const FamilyEntry& family) {
    return std::ranges::any_of(family.metrics, [&](const MetricDescription& metric) {
      // The form itself is no metric.
      return metric.name.find('<') == std::string_view::npos
                 ? metric.name == name
                 : number_in(name, metric.name).has_value();
    });
  });
}

// Runs of digits and points: "0.90" in "precision_at_recal_0.90".
std::vector<std::string_view> numerals_in(std::string_view name) {
  constexpr std::string_view kOfNumbers = ".0123456789";
  std::vector<std::string_view> numerals;
  for (auto from = name.find_first_of(kOfNumbers); from != std::string_view::npos;) {
    const auto to = std::min(name.find_first_not_of(kOfNumbers, from), name.size());
    numerals.push_back(name.substr(from, to - from));
    from = name.find_first_of(kOfNumbers, to);
  }
  return numerals;
}

// What `name` may have been meant for; forms have its numbers.
std::vector<std::string> candidates_for(std::string_view name,
                                        const std::vector<std::string_view>& known) {
  std::vector<std::string> candidates;
  for (const std::string_view metric : known) {
    for (const std::string_view numeral : numerals_in(name)) {
      const std::string made = format("{}{}{}", metric.substr(0, metric.find('<')), numeral,
                                      metric.substr(metric.find('>') + 1));
      if (const auto right = well_spelled(made, metric)) candidates.push_back(*right);
    }
    candidates.emplace_back(metric);
  }
  for (const std::string_view several : {kStandard, kAll, kNone}) candidates.emplace_back(several);
  return candidates;
}

[[noreturn]] void refuse(const std::string& name, const std::string& task,
                         const std::vector<std::string_view>& known) {
  for (const std::string_view metric : known) {
    if (const auto right = well_spelled(name, metric)) {
      throw Error(ErrorKind::usage, format("metric '{}' is written '{}'", name, *right));
    }
  }
  const std::string all_names =
      format("Known: {}; {} and {} stand for several.", fmt::join(known, ", "), kStandard, kAll);
  const bool is_form = name.find('<') != std::string::npos;  // copied from the help
  throw Error(ErrorKind::usage,
              format("metric '{}' is not known for the task {}", printable(name), task),
              is_form ? all_names : did_you_mean(name, candidates_for(name, known), all_names));
}

void check_names(const MetricOptions& options, const std::vector<FamilyEntry>& families) {
  std::vector<std::string_view> known;
  for (const FamilyEntry& family : families) {
    for (const MetricDescription& metric : family.metrics) known.push_back(metric.name);
  }
  for (const std::string& name : options.names) {
    if (name == kStandard || name == kAll || name == kNone || is_known(name, families)) continue;
    refuse(name, options.task, known);
  }
}

// Adds a name once. What was not asked for by name is left out where it has no meaning.
class Wanted {
 public:
  explicit Wanted(const MetricOptions& options) : options_(options) {}

  void add(const FamilyEntry& family, std::string_view name, bool asked_by_name) {
    const auto obstacle =
        family.obstacle == nullptr ? std::nullopt : family.obstacle(options_, name);
    if (obstacle && asked_by_name) {
      throw Error(ErrorKind::usage, format("metric '{}' {}", name, *obstacle),
                  "Leave it out of --metrics.");
    }
    if (!obstacle && !contains(names, name)) names.emplace_back(name);
  }

  std::vector<std::string> names;

 private:
  const MetricOptions& options_;
};

}  // namespace

std::vector<std::string> wanted_metrics(const MetricOptions& options,
                                        const std::vector<FamilyEntry>& families) {
  check_names(options, families);
  const bool all = contains(options.names, kAll);
  const bool standard = all || options.names.empty() || contains(options.names, kStandard);
  Wanted wanted(options);
  for (const FamilyEntry& family : families) {
    for (const MetricDescription& metric : family.metrics) {
      const bool is_form = metric.name.find('<') != std::string_view::npos;
      const auto usual = is_form ? metric.standard_form : metric.name;
      if (!usual.empty() && ((standard && metric.standard) || all))
        wanted.add(family, usual, false);
      for (const std::string& name : options.names) {
        const bool is_meant = is_form ? number_in(name, metric.name).has_value() : name == usual;
        if (is_meant) wanted.add(family, name, true);
      }
    }
  }
  return wanted.names;
}

}  // namespace tally::metrics
