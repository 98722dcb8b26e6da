// SPDX-License-Identifier: Apache-2.0
#include <tally/predictions/choose_rows.hpp>

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/parse_number.hpp>

#include "worst_samples.hpp"

namespace tally::predictions {
namespace {

// Rows are read in windows of so many rows, of fewer where rows are long: memory does not grow with
// the file.
constexpr std::int64_t kWindowBytes = std::int64_t{8} << 20;
constexpr std::int64_t kWindowRows = std::int64_t{1} << 16;

struct Window {
  std::int64_t first = 0, count = 0;
};

// Clears the marks of rows that are not wanted.
using Test = std::function<void(const Window& window, std::span<std::uint8_t> keep)>;

void require(bool holds, std::string_view option, const SavedRows& saved, std::string_view why) {
  if (holds) return;
  throw Error(
      ErrorKind::usage,
      format("{} is not for '{}': of the task {}, {}", option, saved.name(), saved.task(), why),
      "See what there is with --show N.");
}

// A row has either one class, or a mark for each class (multilabel).
bool is_of_class(std::span<const std::int64_t> row, std::int64_t wanted, bool marks) {
  return marks ? row[to_size(wanted)] == 1 : row[0] == wanted;
}

bool has_marks(const SavedRows& saved, std::string_view column) {
  return saved.open(column).info().shape.size() > 1;
}

Test class_test(const SavedRows& saved, std::string column, std::int64_t wanted) {
  const bool marks = has_marks(saved, column);
  return [&saved, column = std::move(column), wanted, marks](const Window& window,
                                                             std::span<std::uint8_t> keep) {
    const auto values = saved.read<std::int64_t>(column, window.first, window.count);
    const std::size_t each = values.size() / keep.size();
    // The number of classes in the file may be less than the class that is wanted; no row has it
    // then.
    if (marks && wanted >= std::ssize(values) / std::ssize(keep)) {
      std::ranges::fill(keep, std::uint8_t{0});
      return;
    }
    for (std::size_t i = 0; i < keep.size(); ++i) {
      if (!is_of_class(std::span(values).subspan(i * each, each), wanted, marks)) keep[i] = 0;
    }
  };
}

std::optional<std::int64_t> ignore_index_of(const SavedRows& saved) {
  const auto text = saved.attribute("ignore_index");
  return text ? parse_number<std::int64_t>(*text) : std::nullopt;
}

// Keeps rows with a label that is scored and, where only wrong ones are wanted, predicted wrongly.
Test label_test(const SavedRows& saved, bool only_wrong) {
  const auto ignored = ignore_index_of(saved);
  return [&saved, ignored, only_wrong](const Window& window, std::span<std::uint8_t> keep) {
    const auto labels = saved.read<std::int64_t>("label", window.first, window.count);
    const auto predictions =
        only_wrong ? saved.read<std::int64_t>("prediction", window.first, window.count)
                   : std::vector<std::int64_t>{};
    const std::size_t each = labels.size() / keep.size();
    // The file may be damaged: the loop below pairs labels and predictions by their place.
    if (only_wrong && predictions.size() != labels.size()) {
      throw Error(ErrorKind::dataset,
                  format("predictions file '{}', /label and /prediction have rows of another size",
                         saved.name()));
    }
    for (std::size_t i = 0; i < keep.size(); ++i) {
      bool matches = false;
      for (std::size_t j = i * each; j < (i + 1) * each; ++j) {
        matches = matches || (labels[j] != ignored && !(only_wrong && labels[j] == predictions[j]));
      }
      if (!matches) keep[i] = 0;
    }
  };
}

// Keeps rows whose values of two columns fit. A test of one column names it twice.
using Fits = bool (*)(double first, double second);
Test value_test(const SavedRows& saved, std::string first, std::string second, Fits fits) {
  return [&saved, first = std::move(first), second = std::move(second), fits](
             const Window& window, std::span<std::uint8_t> keep) {
    const auto values = saved.read_each<double>(first, window.first, window.count);
    const auto others = saved.read_each<double>(second, window.first, window.count);
    for (std::size_t i = 0; i < keep.size(); ++i) {
      if (!fits(values[i], others[i])) keep[i] = 0;
    }
  };
}

// The label is negative where the unit is not scored.
Test scored_unit_test(const SavedRows& saved) {
  return value_test(saved, "label", "label", [](double label, double) { return label >= 0; });
}

Test wrong_unit_test(const SavedRows& saved) {
  return value_test(saved, "label", "prediction", [](double label, double prediction) {
    return label >= 0 && label != prediction;
  });
}

Test exact_match_test(const SavedRows& saved) {
  return value_test(saved, "exact_match", "exact_match",
                    [](double match, double) { return match < 1; });
}

// Keeps rows of which not all parts are right.
Test parts_test(const SavedRows& saved, const BadnessRule& ranking) {
  return value_test(saved, std::string(ranking.columns[0]), std::string(ranking.columns[1]),
                    [](double right, double all) { return right < all; });
}

// Keeps rows of which something is scored. `column` says how many of their pixels, tokens or
// objects are.
Test scored_test(const SavedRows& saved, const std::string& column) {
  return value_test(saved, column, column, [](double scored, double) { return scored > 0; });
}

Test wrong_test(const SavedRows& saved, const BadnessRule& ranking) {
  switch (ranking.wrong) {
    case Wrong::prediction:
      return label_test(saved, true);
    case Wrong::unit_prediction:
      return wrong_unit_test(saved);
    case Wrong::exact_match:
      return exact_match_test(saved);
    case Wrong::parts:
      return parts_test(saved, ranking);
    case Wrong::unknown:
      break;
  }
  require(false, "--wrong", saved, "no prediction is simply right or wrong");
  return {};
}

// Each test only clears marks, so the order of the tests does not matter for the result.
std::vector<Test> tests_for(const SavedRows& saved, const RowsWanted& wanted) {
  std::vector<Test> tests;
  const auto add_class = [&](std::string_view option, std::string column,
                             const std::optional<std::int64_t>& value) {
    if (!value) return;
    require(has_classes(saved.task()), option, saved, "a row has no class");
    tests.push_back(class_test(saved, std::move(column), *value));
  };
  add_class("--class", "label", wanted.label);
  add_class("--predicted", "prediction", wanted.prediction);
  if (wanted.wrong) {
    tests.push_back(wrong_test(saved, badness_rule_of(saved.task())));
  } else if (wanted.worst && badness_rule_of(saved.task()).has_classes) {
    tests.push_back(label_test(saved, false));
  } else if (wanted.worst && badness_rule_of(saved.task()).wrong == Wrong::unit_prediction) {
    tests.push_back(scored_unit_test(saved));
  }
  // Where nothing of a row is scored, its share or mean is 0/0, which would come first.
  for (const char* const scored : {"pixels", "tokens", "annotated"}) {
    if (wanted.worst && saved.has(scored)) tests.push_back(scored_test(saved, scored));
  }
  if (wanted.also) {
    tests.emplace_back([&](const Window& window, std::span<std::uint8_t> keep) {
      wanted.also(saved.read<std::int64_t>("index", window.first, window.count), keep);
    });
  }
  return tests;
}

// Says how bad each row of a window is. Whether a row is kept is decided before.
class Ranks {
 public:
  explicit Ranks(const SavedRows& saved) : saved_(saved), ranking_(badness_rule_of(saved.task())) {
    breaks_ties_ = !ranking_.tie_break.empty() && saved.has(ranking_.tie_break);
  }
  std::string_view order() const { return ranking_.order; }

  void read(const Window& window) {
    const auto read_each = [&](std::string_view column) {
      return saved_.read_each<double>(column, window.first, window.count);
    };
    first_ = read_each(ranking_.columns[0]);
    second_ = ranking_.columns[1].empty() ? first_ : read_each(ranking_.columns[1]);
    if (breaks_ties_) tie_breaks_ = read_each(ranking_.tie_break);
  }
  RankedRow at(const Window& window, std::size_t i) const {
    return {.badness = ranking_.badness(first_[i], second_[i]),
            .tie_break = breaks_ties_ ? -tie_breaks_[i] : 0.0,
            .row = window.first + static_cast<std::int64_t>(i)};
  }

 private:
  const SavedRows& saved_;
  const BadnessRule& ranking_;
  bool breaks_ties_ = false;
  std::vector<double> first_, second_, tie_breaks_;
};

// Returns how many rows a window has, so that label and prediction of a row of many classes or
// marks fit into kWindowBytes each.
std::int64_t window_rows(const SavedRows& saved) {
  std::int64_t most = kWindowRows;
  if (!has_classes(saved.task())) return most;
  for (const std::string_view column : {"label", "prediction"}) {
    if (!saved.has(column)) continue;
    const std::int64_t each = num_elements(saved.open(column).info().row_shape());
    const auto bytes =
        static_cast<std::int64_t>(sizeof(std::int64_t)) * std::max<std::int64_t>(1, each);
    most = std::min(most, std::max<std::int64_t>(1, kWindowBytes / bytes));
  }
  return most;
}

}  // namespace

bool has_classes(std::string_view task) {
  const BadnessRule* const ranking = find_badness_rule(task);
  return ranking != nullptr && ranking->has_classes;
}

ChosenRows choose_rows(const SavedRows& saved, const RowsWanted& wanted) {
  const auto tests = tests_for(saved, wanted);
  std::optional<Ranks> ranks;
  if (wanted.worst) ranks.emplace(saved);
  WorstRows worst(wanted.most);
  ChosenRows chosen{.rows = {}, .order = wanted.worst ? ranks->order() : "in order of index"};
  std::vector<std::uint8_t> keep;
  const std::int64_t most = window_rows(saved);
  // The file is read once, and only the worst rows so far are kept.
  for (Window window; window.first < saved.num_rows(); window.first += window.count) {
    window.count = std::min(most, saved.num_rows() - window.first);
    keep.assign(to_size(window.count), 1);
    for (const Test& test : tests) test(window, keep);
    if (ranks) ranks->read(window);
    for (std::size_t i = 0; i < keep.size(); ++i) {
      if (keep[i] == 0) continue;
      ++chosen.num_matching;
      // The first rows are the worst ones where none is worse than another.
      worst.add(ranks ? ranks->at(window, i)
                      : RankedRow{.row = window.first + static_cast<std::int64_t>(i)});
    }
  }
  chosen.rows = worst.take();
  return chosen;
}

}  // namespace tally::predictions
