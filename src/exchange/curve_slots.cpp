#include "curve_slots.hpp"

#include <cstring>
#include <numeric>
#include <optional>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/comm/agree.hpp>
#include <tally/comm/share_in_turn.hpp>

#include "distinct_keys.hpp"
#include "score_windows.hpp"

namespace tally::exchange {
namespace {

constexpr std::int64_t kShareBytes = std::int64_t{64} << 20;  // at a time, from all ranks together

void collect_positives(const ScoreRows& rows, ScoreKeys keys, DistinctKeys& found) {
  for_each_window(rows, keys, [&](const ScoreWindow& window) {
    for_each_element(window, [&](std::size_t, std::size_t c, float score, bool is_positive) {
      if (is_positive) found.add(score_key(c, score));
    });
  });
}

// One class's entries of the slots from `slots` on.
void fill_class(std::span<const float> thresholds, std::span<const std::int64_t> slots,
                CurveCounts& curve) {
  const std::size_t num_thresholds = thresholds.size();
  curve.thresholds.assign(thresholds.begin(), thresholds.end());
  for (auto* column : {&curve.positives_at, &curve.negatives_at, &curve.negatives_above}) {
    column->resize(num_thresholds);
  }
  for (std::size_t i = 0; i < num_thresholds; ++i) {
    curve.negatives_above[i] = slots[3 * i];
    curve.negatives_at[i] = slots[3 * i + 1];
    curve.positives_at[i] = slots[3 * i + 2];
  }
  const auto total = [](const std::vector<std::int64_t>& column) {
    return std::accumulate(column.begin(), column.end(), std::int64_t{0});
  };
  curve.positives = total(curve.positives_at);
  curve.negatives =
      total(curve.negatives_at) + total(curve.negatives_above) + slots[3 * num_thresholds];
}

}  // namespace

CurveSlots::CurveSlots(std::span<const std::uint64_t> keys, std::int64_t num_classes) {
  thresholds_.reserve(keys.size());
  first_.assign(to_size(num_classes) + 1, 0);
  for (const std::uint64_t key : keys) {
    thresholds_.push_back(score_of_key(key));
    ++first_[class_of_key(key) + 1];
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
}

std::int64_t CurveSlots::num_slots() const {
  return 3 * std::ssize(thresholds_) + std::ssize(first_) - 1;
}

void CurveSlots::fill(std::span<const std::int64_t> counts,
                      std::vector<CurveCounts>& curves) const {
  curves.resize(first_.size() - 1);
  for (std::size_t c = 0; c < curves.size(); ++c) {
    const auto thresholds =
        std::span(thresholds_).subspan(to_size(first_[c]), to_size(first_[c + 1] - first_[c]));
    fill_class(thresholds, counts.subspan(to_size(first_slot(c)), 3 * thresholds.size() + 1),
               curves[c]);
  }
}

CurveSlots agree_on_slots(const comm::Communicator& comm, const ScoreRows& rows, ScoreKeys keys) {
  comm::agree_same(comm, ErrorKind::internal, "the number of classes of a curve",
                   format("{}", rows.num_classes));
  DistinctKeys all;
  std::vector<std::uint64_t> mine;
  comm::agree_on(comm, [&] {
    if (rows.num_classes < 1) throw Error(ErrorKind::internal, "a curve of no class");
    collect_positives(rows, keys, all);
    const auto found = all.sorted();
    mine.assign(found.begin(), found.end());
  });
  comm::share_in_turn(comm, std::as_bytes(std::span(mine)), sizeof(std::uint64_t), kShareBytes,
                      [&](std::int64_t rank, std::span<const std::byte> rows_of_rank) {
                        if (rank == comm.rank()) return;
                        std::uint64_t key = 0;
                        for (; !rows_of_rank.empty();
                             rows_of_rank = rows_of_rank.subspan(sizeof key)) {
                          std::memcpy(&key, rows_of_rank.data(), sizeof key);
                          all.add(key);
                        }
                      });
  std::optional<CurveSlots> slots;
  comm::agree_on(comm, [&] { slots.emplace(all.sorted(), rows.num_classes); });
  return *std::move(slots);
}

}  // namespace tally::exchange
