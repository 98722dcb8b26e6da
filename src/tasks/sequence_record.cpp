// SPDX-License-Identifier: Apache-2.0
#include <tally/tasks/sequence_record.hpp>

#include <limits>

#include <tally/base/checked_cast.hpp>
#include <tally/exact/sum.hpp>

#include "column.hpp"

namespace tally::tasks {
namespace {

constexpr std::int32_t kTop = 5;

}  // namespace

void add_up(std::span<const metrics::TokenRecord> places, SequenceRecord& record) {
  std::vector<std::int64_t> loss(to_size(exact::num_limbs(exact::SumKind::float64)));
  for (const metrics::TokenRecord& place : places) {
    if (!place.scored) continue;
    ++record.tokens;
    if (!place.finite) {
      record.finite = 0;
      continue;
    }
    if (place.rank == 0) ++record.right;
    if (place.rank < kTop) ++record.in_top5;
    exact::add(loss, place.loss);
  }
  exact::canonicalise(loss);
  record.loss = record.finite != 0 ? exact::value(loss, exact::SumKind::float64)
                                   : std::numeric_limits<double>::quiet_NaN();
}

predictions::ColumnSpec sequence_column() {
  return {"sequence", DType::u8, {sizeof(SequenceRecord)}};
}

void append_record(const SequenceRecord& record, std::vector<std::byte>& column) {
  append_value(column, record);
}

std::span<const SequenceRecord> sequences_in(std::span<const std::byte> column) {
  return {reinterpret_cast<const SequenceRecord*>(column.data()),
          column.size() / sizeof(SequenceRecord)};
}

}  // namespace tally::tasks
