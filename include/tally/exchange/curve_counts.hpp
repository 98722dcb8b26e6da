// Counts from which every figure of a ROC or precision-recall curve follows.
#pragma once

#include <cstdint>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/exchange/score_rows.hpp>

namespace tally::exchange {

// One class. Thresholds are the distinct scores of positives, descending; negatives between two of
// them are one number, because their order changes no figure. Entry i of each vector belongs to
// thresholds[i].
struct CurveCounts {
  std::vector<float> thresholds;
  std::vector<std::int64_t> positives_at;     // score == threshold
  std::vector<std::int64_t> negatives_at;     // score == threshold
  std::vector<std::int64_t> negatives_above;  // threshold < score < the threshold before it
  std::int64_t positives = 0;
  std::int64_t negatives = 0;  // also those below the last threshold
  bool operator==(const CurveCounts&) const = default;
};

// Collective. The counts of all ranks' rows, one entry a class, on every rank; the same for any
// distribution of the rows. Reads all rows twice. Every rank holds the distinct scores of all
// positives, about 50 bytes each; keys bfloat16 bound that at 0.8 MB a class. Where scores are not
// finite, every rank throws AgreedFailure(numeric) after a line that names class and sample.
std::vector<CurveCounts> count_curves(const comm::Communicator& comm, const ScoreRows& rows,
                                      ScoreKeys keys = ScoreKeys::float32);

}  // namespace tally::exchange
