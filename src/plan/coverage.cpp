// SPDX-License-Identifier: Apache-2.0
#include <tally/plan/coverage.hpp>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/index_hash.hpp>

namespace tally::plan {

CoverageEvidence expected_evidence(SampleRange range) {
  if (range.first < 0 || range.count < 0) {
    throw Error(ErrorKind::internal,
                format("evidence asked for samples {} + {}", range.first, range.count));
  }
  CoverageEvidence evidence{.count = range.count};
  for (std::int64_t index = range.first; index < range.end(); ++index) {
    evidence.index_sum += static_cast<std::uint64_t>(index);
    evidence.index_mix += index_hash(static_cast<std::uint64_t>(index));
  }
  return evidence;
}

}  // namespace tally::plan
