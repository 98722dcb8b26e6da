// SPDX-License-Identifier: Apache-2.0
#include "changes_text.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/compare/comparison_text.hpp>

namespace tally::compare {
namespace {

constexpr std::size_t kMostNameBytes = 24;
constexpr std::ptrdiff_t kMostNumbers = 3;  // of each list in a line

// "3 5 8" or "3 5 8 and 4 more"
template <class Number, class Text>
std::string list_text(const std::vector<Number>& numbers, const Text& text) {
  std::string line;
  const std::ptrdiff_t shown = std::min(std::ssize(numbers), kMostNumbers);
  for (std::ptrdiff_t i = 0; i < shown; ++i) {
    if (i > 0) line += ' ';
    line += text(numbers[to_size(i)]);
  }
  const std::ptrdiff_t unlisted = std::ssize(numbers) - shown;
  if (unlisted > 0) line += format(" and {} more", unlisted);
  return line;
}

// The labels that `of` predicts and `other` does not. Both lists ascend, as set_difference() needs.
std::vector<std::int64_t> labels_without(const LabelSetPrediction& of,
                                         const LabelSetPrediction& other) {
  std::vector<std::int64_t> labels;
  std::ranges::set_difference(*of.labels, *other.labels, std::back_inserter(labels));
  return labels;
}

// "B adds labels 3 5, drops label 8"
std::string set_text(const LabelSetChange& change) {
  // At most one side has no prediction: two such samples count as unchanged.
  if (!change.a.labels) return "no prediction in A";
  if (!change.b.labels) return "no prediction in B";
  const auto text = [](std::int64_t label) { return format("{}", label); };
  const auto added = labels_without(change.b, change.a);
  const auto dropped = labels_without(change.a, change.b);
  const auto part = [&](const char* does, const std::vector<std::int64_t>& labels) {
    if (labels.empty()) return std::string();
    return format("{} label{} {}", does, labels.size() == 1 ? "" : "s", list_text(labels, text));
  };
  return format("B {}{}{}", part("adds", added), added.empty() || dropped.empty() ? "" : ", ",
                part("drops", dropped));
}

std::string values_text(const std::vector<float>& values) {
  return list_text(values, [](float value) { return format("{:.5g}", value); });
}

// Visits the three forms of changes. An object is used once, because finish() moves the lines out
// of it.
class ChangeLines {
 public:
  explicit ChangeLines(const Comparison& comparison) : comparison_(comparison) {}

  std::vector<std::string> operator()(const ClassChanges& changes) {
    count(changes.counts);
    for (const ClassChange& change : changes.first) {
      lines_.push_back(format("  sample {}, label {}: {} -> {}", sample_text(change.index),
                              class_text(change.label), prediction_text(change.a),
                              prediction_text(change.b)));
    }
    return finish(changes);
  }

  std::vector<std::string> operator()(const LabelSetChanges& changes) {
    count(changes.counts);
    for (const LabelSetChange& change : changes.first) {
      lines_.push_back(format("  sample {}, {} -> {} of {} labels right: {}",
                              sample_text(change.index), change.a.right, change.b.right,
                              change.scored, set_text(change)));
    }
    return finish(changes);
  }

  std::vector<std::string> operator()(const ValueChanges& changes) {
    lines_.push_back(format("of {} samples, {} are closer to the target in B, {} farther from it",
                            comparison_.samples.scored(), changes.closer, changes.farther));
    for (const ValueChange& change : changes.first) {
      const auto text = [](const ValuePrediction& prediction) {
        return format("{} (off by {:.4g})", values_text(prediction.values), prediction.error);
      };
      lines_.push_back(format("  sample {}, target {}: {} -> {}", sample_text(change.index),
                              values_text(change.targets), text(change.a), text(change.b)));
    }
    return finish(changes);
  }

 private:
  void count(const ChangeCounts& counts) {
    lines_.push_back(
        format("predicted otherwise in B: {} of {} samples; right -> wrong {}, wrong -> "
               "right {}, wrong -> other wrong {}",
               counts.total(), comparison_.samples.scored(), counts.right_to_wrong,
               counts.wrong_to_right, counts.wrong_to_other_wrong));
  }

  template <class OfKind>
  std::vector<std::string> finish(const OfKind& changes) {
    // With --changed 0 nothing is listed, and the line of counts has said it all.
    const std::int64_t unlisted = changes.total() - std::ssize(changes.first);
    if (unlisted > 0 && !changes.first.empty()) {
      lines_.push_back(format("  and {} more (--changed N lists N of them)", unlisted));
    }
    return std::move(lines_);
  }

  // "17" or "17 'cats/0001.png'"; a long name is left out as below.
  std::string sample_text(std::int64_t index) const {
    constexpr std::size_t kMostBytes = 120;
    const auto& names = comparison_.samples.names;
    const auto found = names.find(index);
    if (found == names.end() || found->second.size() > kMostBytes) return format("{}", index);
    return format("{} '{}'", index, printable(found->second));
  }

  // "3" or "3 'cat'"
  std::string class_text(std::int64_t index) const {
    // A negative class means that the outputs were not finite.
    if (index < 0) return "none";
    const auto& names = comparison_.samples.class_names;
    if (index >= std::ssize(names)) return format("{}", index);
    const std::string& name = names[to_size(index)];
    // A long name is left out and not cut, for the cut could fall inside a UTF-8 character.
    return name.size() <= kMostNameBytes ? format("{} '{}'", index, name) : format("{}", index);
  }

  std::string prediction_text(const ClassPrediction& prediction) const {
    const std::string predicted = class_text(prediction.predicted);
    return std::isnan(prediction.confidence)
               ? predicted
               : format("{} ({:.3f})", predicted, prediction.confidence);
  }

  const Comparison& comparison_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> change_lines(const Comparison& comparison) {
  return std::visit(ChangeLines(comparison), comparison.changes);
}

}  // namespace tally::compare
