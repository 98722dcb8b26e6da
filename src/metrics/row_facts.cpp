#include <tally/metrics/row_facts.hpp>

#include <algorithm>
#include <array>
#include <limits>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "row_kernel.hpp"
#include "scalar.hpp"

namespace tally::metrics {
namespace {

using Row = std::span<const float>;

constexpr std::array<std::string_view, 3> kOutputNames{"logits", "log-probabilities",
                                                       "probabilities"};
constexpr float kInf = std::numeric_limits<float>::infinity();

bool is_finite(Row row, float peak, OutputKind kind) {
  return !has_bad_score(row, kind) && peak != -kInf;  // no class is possible
}

void check_form(const TensorView& scores, std::size_t num_labels) {
  const bool good = scores.dtype == DType::f32 && scores.device == DeviceKind::cpu &&
                    scores.shape.size() == 2 && scores.strides.size() == 2 &&
                    to_size(scores.shape[0]) >= num_labels && scores.shape[1] >= 1 &&
                    scores.shape[1] <= std::numeric_limits<std::int32_t>::max() &&
                    (scores.strides[1] == 1 || scores.shape[1] == 1);
  if (good) return;
  throw Error(ErrorKind::internal,
              format("scores are {} {} on {} for {} labels, expected float32 [rows, classes] on "
                     "the CPU",
                     name(scores.dtype), to_string(scores.shape), name(scores.device), num_labels));
}

void resize(RowFacts& facts, std::size_t rows) {
  facts.prediction.resize(rows);
  facts.label_rank.resize(rows);
  facts.loss.resize(rows);
  facts.confidence.resize(rows);
  facts.label_tied.resize(rows);
  facts.non_finite_row.reset();
  facts.wrong_kind_row.reset();
}

// The facts that need the true class.
void rank_label(Row row, std::int64_t label, std::size_t i, RowFacts& facts) {
  if (!std::in_range<std::size_t>(label) || to_size(label) >= row.size()) {
    throw Error(ErrorKind::internal,
                format("label {} reached the metrics of {} classes", label, row.size()));
  }
  const float truth = row[to_size(label)];
  const Comparison before = compare(row.first(to_size(label)), truth);
  const Comparison after = compare(row.subspan(to_size(label) + 1), truth);
  facts.label_rank[i] = before.greater + before.equal + after.greater;
  facts.label_tied[i] = before.equal + after.equal > 0 ? 1 : 0;
}

}  // namespace

OutputKind output_kind_from_name(std::string_view word) {
  const auto found = std::find(kOutputNames.begin(), kOutputNames.end(), word);
  if (found == kOutputNames.end()) {
    throw Error(ErrorKind::usage, format("'{}' is no kind of output, expected {}", word,
                                         fmt::join(kOutputNames, ", ")));
  }
  return static_cast<OutputKind>(found - kOutputNames.begin());
}

std::string_view name(OutputKind kind) { return kOutputNames.at(static_cast<std::size_t>(kind)); }

void examine_rows(const TensorView& scores, std::span<const std::int64_t> labels,
                  std::optional<std::int64_t> ignore_index, OutputKind kind, RowFacts& facts) {
  check_form(scores, labels.size());
  resize(facts, labels.size());
  const std::size_t num_classes = to_size(scores.shape[1]);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const Row row(scores.as<const float>() + static_cast<std::int64_t>(i) * scores.strides[0],
                  num_classes);
    const float peak = largest(row);
    if (!is_finite(row, peak, kind)) {
      facts.non_finite_row = checked_cast<std::int64_t>(i);
      return;
    }
    if (!all_fit_kind(row, kind)) {
      facts.wrong_kind_row = checked_cast<std::int64_t>(i);
      return;
    }
    facts.prediction[i] = std::find(row.begin(), row.end(), peak) - row.begin();
    const bool ignored = labels[i] == ignore_index;
    if (ignored) {
      facts.label_rank[i] = -1;
      facts.label_tied[i] = 0;
    } else {
      rank_label(row, labels[i], i, facts);
    }
    const float truth = ignored ? peak : row[to_size(labels[i])];
    const double sum = kind == OutputKind::logits ? sum_exp(row, peak) : 0.0;
    const Judgement judgement = judge(kind, peak, truth, sum);
    facts.loss[i] = ignored ? std::numeric_limits<float>::quiet_NaN() : judgement.loss;
    facts.confidence[i] = judgement.confidence;
  }
}

void class_probabilities(std::span<const float> row, OutputKind kind,
                         std::span<float> probabilities) {
  if (kind == OutputKind::probabilities) {
    std::copy(row.begin(), row.end(), probabilities.begin());
    return;
  }
  const float peak = kind == OutputKind::logits ? largest(row) : 0.0f;
  const double sum = kind == OutputKind::logits ? sum_exp(row, peak) : 1.0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double exponent = std::min(0.0, double{row[i]} - double{peak});
    probabilities[i] = static_cast<float>(exp_of_negative(exponent) / sum);
  }
}

}  // namespace tally::metrics
