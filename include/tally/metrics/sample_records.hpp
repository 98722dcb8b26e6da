// SPDX-License-Identifier: Apache-2.0
// Defines what the passes find of a sample, or of what is scored as a whole, as a struct for each
// kind: every metric and record column is made of them. All are plain data: kernels write and read
// them.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace tally::metrics {

// What one pass over the model's output finds for a sample with one class label; every metric and
// record column of a classification is made of it. Plain data: kernels write it.
struct MulticlassRecord {
  std::uint64_t index = 0;      // global sample index
  std::int64_t label = 0;       // in range unless ignored
  std::int64_t prediction = 0;  // argmax; ties: the smallest class index; -1: none
  // Classes ahead of the true one, -1 if there is no such rank (ignored, or not finite):
  std::int32_t label_rank = -1;  // #(greater) + #(equal with a smaller index)
  std::int32_t best_rank = -1;   // #(greater): ties in the label's favour
  std::int32_t worst_rank = -1;  // #(greater) + #(other equal ones): ties against it
  bool ignored = false;          // its label is not scored
  bool finite = true;            // false: the scores hold NaN or an Inf that means nothing
  // Natural logarithms; NaN where a row is ignored or not finite.
  double loss = 0;        // cross entropy, with weights and smoothing if asked for; finite
  double confidence = 0;  // probability of the prediction; NaN only where not finite
  double brier = 0;       // sum over classes of (probability - truth)^2
  double hinge = 0;       // max(0, 1 - margin); NaN unless asked for

  constexpr bool is_tied() const { return best_rank != worst_rank; }
  constexpr bool is_right() const { return label_rank == 0; }
};

// What the pass over scores of tokens finds at one place of a sequence: of a language model's
// vocabulary, or of the classes of a token classification. Plain data: kernels write it.
struct TokenRecord {
  double loss = 0;  // -log of the probability of the place's token, natural; if it has scores
  std::int32_t rank = -1;        // tokens ahead of it; of equal ones that with the smaller number
  std::int32_t prediction = -1;  // the most likely one, by the same rule; -1: none
  bool scored = false;           // false: nothing was looked at
  bool finite = true;            // false: the scores hold NaN or an Inf that means nothing
};

// The vocabulary is the classes, the token the label.
constexpr TokenRecord token_row(const MulticlassRecord& row) {
  return {row.finite ? row.loss : 0.0, row.label_rank, static_cast<std::int32_t>(row.prediction),
          true, row.finite};
}

// What one pass over the model's output finds for a sample whose labels are judged one by one: the
// single label of the task binary, the labels of multilabel. Plain data: kernels write it.

// Target of a label that is not scored; else 1 where it is set, 0 where not.
inline constexpr std::uint8_t kNotScored = 2;

struct MultilabelRecord {
  std::uint64_t index = 0;  // global sample index
  std::int32_t scored = 0;  // labels that are scored
  std::int32_t right = 0;   // of them predicted right; none where the scores are not finite
  bool finite = true;       // false: the scores hold NaN or an Inf that means nothing
  // Sums over the scored labels, natural logarithms; NaN where there is none or no finite score.
  double loss = std::numeric_limits<double>::quiet_NaN();   // cross entropy; finite
  double brier = std::numeric_limits<double>::quiet_NaN();  // (probability - truth)^2
  double hinge = std::numeric_limits<double>::quiet_NaN();  // NaN also unless asked for
  // Of the labels as a ranking by probability (Ranking in multilabel_statistics.hpp); 0 unless
  // asked for.
  std::int64_t coverage = 0;
  double ranking_loss = 0;
  double ranking_precision = 0;

  constexpr bool is_ignored() const { return scored == 0; }
};

// A sample with its labels.
struct LabelSample {
  const MultilabelRecord& row;
  const float* probabilities = nullptr;   // [labels] that a label is set; NaN where not finite
  const std::uint8_t* targets = nullptr;  // [labels] 1, 0 or kNotScored
  std::int64_t num_labels = 0;
};

// Samples one after the other.
struct MultilabelRecords {
  std::span<const MultilabelRecord> rows;
  std::span<const float> probabilities;   // [rows, labels]
  std::span<const std::uint8_t> targets;  // [rows, labels]

  LabelSample sample(std::size_t i) const {
    const std::size_t num_labels = targets.size() / rows.size();
    return {rows[i], probabilities.data() + i * num_labels, targets.data() + i * num_labels,
            static_cast<std::int64_t>(num_labels)};
  }
};

// A sample whose targets are real numbers, one or several of them. Plain data: kernels read it.
struct RegressionRecord {
  std::uint64_t index = 0;             // global sample index
  const float* predictions = nullptr;  // [outputs]
  const float* targets = nullptr;      // [outputs], finite
  std::int64_t num_outputs = 0;
  bool finite = true;  // false: a prediction is NaN or Inf; the row counts in no metric
};

// An image of whose pixels each is a value of a regression, as sums over them. Plain data.
struct DenseRegressionRecord {
  std::uint64_t index = 0;  // of the image
  bool ignored = false;     // none of its pixels is scored
  bool finite = true;  // false: the prediction of a scored pixel is NaN or Inf; counts in no metric
  std::int64_t num_pixels = 0;  // that are scored
  double loss = 0;              // mean of their squared errors; NaN without any, or not finite
  // What its pixels add to a State behind RegressionCounters::pixels.
  const std::int64_t* sums = nullptr;  // [num_sums]
  std::int64_t num_sums = 0;
  std::span<const float> predictions = {};  // of all pixels; none where only sums were kept
};

// An image whose pixels are classified one by one, as counts per class. Plain data.
struct SegmentationRecord {
  std::uint64_t index = 0;  // of the image
  bool ignored = false;     // none of its pixels is scored
  bool finite = true;       // false: scores hold NaN or Inf; pixels that have them count as wrong
  std::int64_t num_classes = 0;
  // [num_classes] each; of the pixels that are scored:
  const std::int64_t* support = nullptr;    // with this label
  const std::int64_t* predicted = nullptr;  // predicted as this class
  const std::int64_t* correct = nullptr;    // both
  // The pixels themselves, for the confusion matrix; none where only counts were kept.
  const std::int32_t* labels = nullptr;       // [num_pixels]; -1: not scored
  const std::int32_t* predictions = nullptr;  // [num_pixels]; -1: none
  std::int64_t num_pixels = 0;
};

// By area an object is judged in several ranges, by overlap at several thresholds: COCO's. The
// first range takes all areas.
inline constexpr int kAllAreas = 0, kSmall = 1, kMedium = 2, kLarge = 3;
inline constexpr int kNumAreaRanges = 4;
inline constexpr int kNumIouThresholds = 10;  // 0.50, 0.55 … 0.95

// Of one area range and threshold, in a set of all of them.
constexpr std::uint64_t verdict_bit(int area, int threshold) {
  return std::uint64_t{1} << (area * kNumIouThresholds + threshold);
}

struct ObjectRow {
  std::int32_t label = 0;
  std::uint32_t areas = 0;  // bit a: it counts in area range a
};

// One that takes part. What is neither right nor wrong is ignored.
struct DetectionRecord {
  double score = 0;
  std::int64_t image = 0;   // index of its sample
  std::uint64_t right = 0;  // set of verdict_bit(): it found an object that counts
  std::uint64_t wrong = 0;  // it found nothing
  std::int32_t label = 0;
  std::int32_t place = 0;  // among those of its image and class, the best first
  bool operator==(const DetectionRecord&) const = default;
};

// A question and how good its predicted answer is. Plain data.
struct QuestionAnsweringRecord {
  std::uint64_t index = 0;  // of the question
  bool has_answer = true;   // false: it has none, and saying so is right
  bool exact = false;
  bool finite = true;  // false: a score of one of its samples is NaN or Inf
  double f1 = 0;       // in [0, 1]
};

// A sample that is not scored by itself: it takes part in a unit, or nothing is scored.
struct SampleRecord {
  std::uint64_t index = 0;
  bool finite = true;
};

// A document and how well a language model predicted its tokens. Plain data.
struct LanguageModelRecord {
  std::uint64_t index = 0;   // of the document
  std::int64_t tokens = 0;   // that are scored; 0: the document is ignored
  std::int64_t right = 0;    // predicted correctly; none without finite scores
  std::int64_t in_top5 = 0;  // the same among the five most likely
  double loss = 0;           // sum over the tokens of -log(probability); void where not finite
  std::int64_t bytes = 0, words = 0;  // of its text
  bool finite = true;                 // false: scores of a token hold NaN or Inf
  bool whole = true;                  // false: --limit left some of its tokens out
};

}  // namespace tally::metrics
