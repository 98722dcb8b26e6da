// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/metrics/intervals.hpp>

#include "symptom_rules.hpp"

namespace tally::diagnosis {
namespace {

using metrics::Proportion;

// Of fewer samples, by chance, nearly any accuracy may come.
constexpr std::int64_t kFewestCounted = 20;
constexpr std::int64_t kFewestOfClass = 4;
// A renumbering explains the accuracy where it would make it as high as this, and so much higher.
constexpr double kExplains = 0.5;
constexpr double kGain = 0.25;
// An accuracy is said to be that of chance only where it is known as well as this.
constexpr double kWidestInterval = 0.1;
// A model that knows something of every class is better than chance, however its classes are
// spread.
constexpr double kKnowsSomething = 0.05;
constexpr std::size_t kShown = 4;

// Samples of the classes, or pixels.
struct Counts {
  Proportion accuracy;
  std::int64_t num_classes = 0;
  std::int64_t num_present = 0;  // classes that have samples
  double largest_share = 0;      // of the labels in one class
  double mean_recall = 0;        // over the classes that are present
};

std::optional<Counts> counts_of(const Evidence& evidence) {
  const auto& results = evidence.results;
  const bool has_one_label = is_task(evidence.task, TaskKind::multiclass) ||
                             is_task(evidence.task, TaskKind::segmentation) ||
                             is_task(evidence.task, TaskKind::binary);
  if (!has_one_label || results.per_class.size() < 2) return std::nullopt;
  Counts counts{.accuracy = {}, .num_classes = std::ssize(results.per_class)};
  std::int64_t most = 0;
  for (const auto& one : results.per_class) {
    counts.accuracy.part += one.correct;
    counts.accuracy.whole += one.support;
    most = std::max(most, one.support);
    if (one.support == 0) continue;
    ++counts.num_present;
    counts.mean_recall += static_cast<double>(one.correct) / static_cast<double>(one.support);
  }
  if (counts.accuracy.whole < kFewestCounted) return std::nullopt;
  counts.mean_recall /= static_cast<double>(counts.num_present);
  counts.largest_share = static_cast<double>(most) / static_cast<double>(counts.accuracy.whole);
  return counts;
}

// A sample of class i is predicted as class to[i]; -1 where no class stands out.
struct Renumbering {
  std::vector<std::int64_t> to;
  std::int64_t correct = 0;  // samples, if labels were renumbered so
  std::int64_t shift = 0;    // to[i] = i + shift for all; 0: no shift
};

std::int64_t at(const metrics::Results& results, std::int64_t row, std::int64_t column) {
  return results.confusion[to_size(row * results.num_classes + column)];
}

// The number by which all classes move; 0 where they move by several. Where labels are counted from
// 1 the last class has no class to go to, and may go anywhere.
std::int64_t shift_of(const std::vector<std::int64_t>& to) {
  const auto classes = std::ssize(to);
  std::map<std::int64_t, std::int64_t> counts;
  for (std::int64_t i = 0; i < classes; ++i) {
    if (to[to_size(i)] >= 0) ++counts[to[to_size(i)] - i];
  }
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; });
  const std::int64_t shift = most->first;
  for (std::int64_t i = 0; i < classes; ++i) {
    const bool is_at_edge = i + shift < 0 || i + shift >= classes;
    if (to[to_size(i)] >= 0 && to[to_size(i)] - i != shift && !is_at_edge) return 0;
  }
  return shift;
}

// The prediction that most samples of each class get, where no two classes share one.
std::optional<Renumbering> find_renumbering(const metrics::Results& results) {
  const std::int64_t classes = results.num_classes;
  Renumbering found{.to = std::vector<std::int64_t>(to_size(classes), -1)};
  std::vector<bool> taken(to_size(classes));
  bool moves = false;
  for (std::int64_t row = 0; row < classes; ++row) {
    if (results.per_class[to_size(row)].support == 0) continue;
    std::int64_t best = 0;
    for (std::int64_t column = 1; column < classes; ++column) {
      if (at(results, row, column) > at(results, row, best)) best = column;
    }
    if (taken[to_size(best)]) return std::nullopt;
    taken[to_size(best)] = true;
    found.to[to_size(row)] = best;
    found.correct += at(results, row, best);
    moves = moves || best != row;
  }
  if (!moves) return std::nullopt;
  found.shift = shift_of(found.to);
  return found;
}

std::string moves_text(const Renumbering& renumbering) {
  std::vector<std::string> moves;
  for (std::size_t i = 0; i < renumbering.to.size(); ++i) {
    const auto to = renumbering.to[i];
    if (to >= 0 && to != checked_cast<std::int64_t>(i)) moves.push_back(format("{} is {}", i, to));
  }
  const auto all = moves.size();
  if (all > kShown) moves.resize(kShown);
  return format("{}{}", fmt::join(moves, ", "),
                all > kShown ? format(" and {} more", all - kShown) : "");
}

// Labels that the data set numbers in another way than the model, if that would explain most
// errors.
std::optional<Symptom> renumbered_labels(const Evidence& evidence, const Counts& counts) {
  const auto& results = evidence.results;
  const auto cells = to_size(results.num_classes * results.num_classes);
  const bool has_matrix =
      results.num_classes == counts.num_classes && results.confusion.size() == cells;
  const bool has_enough = counts.accuracy.whole >= kFewestOfClass * counts.num_present;
  if (!has_matrix || !has_enough || counts.num_present < 2) return std::nullopt;
  const auto renumbering = find_renumbering(results);
  if (!renumbering) return std::nullopt;
  const Proportion otherwise{renumbering->correct, counts.accuracy.whole};
  const double now = *counts.accuracy.value(), then = *otherwise.value();
  const bool explains = then >= kExplains && then >= now + kGain &&
                        metrics::wilson(otherwise)->low > metrics::wilson(counts.accuracy)->high;
  if (!explains) return std::nullopt;
  if (renumbering->shift != 0) {
    return Symptom{
        "labels_shifted",
        format("With labels shifted by {:+} accuracy would be {} instead of {}: does the "
               "data set count its classes from another number than the model?",
               renumbering->shift, percent(then), percent(now))};
  }
  return Symptom{"classes_permuted",
                 format("With classes numbered otherwise ({}) accuracy would be {} instead of {}: "
                        "compare the order of the model's classes with that of the data set's "
                        "(prepare_imagefolder.py --class-order, tally evaluate --classes-by name)",
                        moves_text(*renumbering), percent(then), percent(now))};
}

std::optional<Symptom> no_better_than_chance(const Counts& counts) {
  const auto interval = metrics::wilson(counts.accuracy);
  const double uniform = 1.0 / static_cast<double>(counts.num_classes);
  const double accuracy = *counts.accuracy.value();
  if (interval->high < uniform) {
    return Symptom{"below_chance",
                   format("Accuracy {} is below chance ({}): are labels and outputs in the same "
                          "order, and is the model the one for these classes?",
                          percent(accuracy), percent(uniform))};
  }
  const double chance = std::max(uniform, counts.largest_share);
  const bool holds_chance = interval->low <= chance && chance <= interval->high;
  const double of_present = 1.0 / static_cast<double>(counts.num_present);
  // A good model on a set of nearly one class is as often right as one that always says this class,
  // but it finds some of the others.
  const bool knows_something =
      counts.num_present < 2 || counts.mean_recall > of_present + kKnowsSomething;
  if (!holds_chance || interval->high - interval->low >= kWidestInterval || knows_something) {
    return std::nullopt;
  }
  return Symptom{"chance",
                 format("Accuracy {} cannot be told from chance ({}): are the weights trained, are "
                        "they of this model, and are its inputs prepared as in training?",
                        percent(accuracy), percent(chance))};
}

}  // namespace

void look_at_accuracy(const Evidence& evidence, Symptoms& found) {
  const auto counts = counts_of(evidence);
  if (!counts) return;
  if (auto symptom = renumbered_labels(evidence, *counts)) {
    found.push_back(std::move(*symptom));
  } else if (auto other = no_better_than_chance(*counts)) {
    found.push_back(std::move(*other));
  }
}

}  // namespace tally::diagnosis
