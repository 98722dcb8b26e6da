// SPDX-License-Identifier: Apache-2.0
#include <tally/distributed_metrics/global_curves_and_bootstrap.hpp>

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include <tally/base/activity.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/comm/agree.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/comm/windowed_gather.hpp>
#include <tally/ordered_metrics/score_rows.hpp>
#include <tally/ordered_metrics/threshold_bins.hpp>

#include "replicate_counts.hpp"

namespace tally::distributed_metrics {

namespace {

constexpr std::int64_t kShareBytes = std::int64_t{64} << 20;  // at a time, from all ranks together

// Collective. Returns the bins of all ranks' positives, equal on every rank. Fails as
// count_curves() does.
ordered_metrics::ThresholdBins agree_on_bins(const comm::Communicator& comm,
                                             const ordered_metrics::ScoreRows& rows,
                                             ordered_metrics::ScoreKeys keys) {
  comm::agree_same(comm, ErrorKind::internal, "the number of classes of a curve",
                   format("{}", rows.num_classes));
  ordered_metrics::DistinctKeys all;
  std::vector<std::uint64_t> local;
  comm::agree_on(comm, [&] {
    ordered_metrics::collect_positives(rows, keys, all);
    const auto found = all.sorted();
    local.assign(found.begin(), found.end());
  });
  comm::windowed_all_gather(
      comm, std::as_bytes(std::span(local)), sizeof(std::uint64_t), kShareBytes,
      [&](std::int64_t rank, std::span<const std::byte> rows_of_rank) {
        // The keys of this rank are in the set already.
        if (rank == comm.rank()) return;
        std::uint64_t key = 0;
        for (; !rows_of_rank.empty(); rows_of_rank = rows_of_rank.subspan(sizeof key)) {
          std::memcpy(&key, rows_of_rank.data(), sizeof key);
          all.add(key);
        }
      });
  std::optional<ordered_metrics::ThresholdBins> bins;
  comm::agree_on(comm, [&] { bins.emplace(all.sorted(), rows.num_classes); });
  return *std::move(bins);
}

}  // namespace

std::vector<ordered_metrics::CurveCounts> count_curves(const comm::Communicator& comm,
                                                       const ordered_metrics::ScoreRows& rows,
                                                       ordered_metrics::ScoreKeys keys) {
  const ordered_metrics::ThresholdBins bins = agree_on_bins(comm, rows, keys);
  std::vector<std::int64_t> counts;
  comm::agree_on(comm, [&] {
    counts.resize(to_size(bins.num_bins()));
    std::vector<std::int64_t> found;
    ordered_metrics::for_each_window(rows, keys, [&](const ordered_metrics::ScoreWindow& window) {
      found.resize(window.scores.size());
      bins.find(window, found);
      for (const std::int64_t bin : found) {
        if (bin != ordered_metrics::ThresholdBins::kNowhere)
          ++counts[static_cast<std::size_t>(bin)];
      }
    });
  });
  comm.sum_in_place(counts);
  std::vector<ordered_metrics::CurveCounts> curves;
  comm::agree_on(comm, [&] { bins.fill(counts, curves); });
  return curves;
}

namespace {

// Holds the values of all replicates as integers. One rank writes an entry and the others leave it
// 0, so that adding them up shares them.
class SharedValues {
 public:
  SharedValues(std::int64_t num_replicates, std::int64_t num_values)
      : num_values_(to_size(num_values)), values_(to_size(num_replicates) * num_values_ * kWords) {}

  void set(std::int64_t replicate, std::span<const std::optional<double>> values) {
    std::size_t next = to_size(replicate) * num_values_ * kWords;
    for (const auto& value : values) {
      // The bits of 0.0 are 0 as well, so a word of its own says that a value is defined.
      values_[next++] = value ? 1 : 0;
      values_[next++] = std::bit_cast<std::int64_t>(value.value_or(0.0));
    }
  }
  std::span<std::int64_t> values() { return values_; }
  std::vector<std::optional<double>> get(std::int64_t replicate) const {
    std::vector<std::optional<double>> values(num_values_);
    std::size_t next = to_size(replicate) * num_values_ * kWords;
    for (auto& value : values) {
      if (values_[next] != 0) value = std::bit_cast<double>(values_[next + 1]);
      next += kWords;
    }
    return values;
  }

 private:
  static constexpr std::size_t kWords = 2;  // whether it is defined, its bits
  std::size_t num_values_;
  std::vector<std::int64_t> values_;
};

// Says which replicates of a batch are this rank's to compute: the ranks take them in turn.
struct Turns {
  std::int64_t first_replicate;
  std::int64_t num_replicates;
  std::int64_t rank;
  std::int64_t world_size;
};

void compute_values(const Turns& turns, std::span<const std::int64_t> batch,
                    const ordered_metrics::ThresholdBins& bins, const ReplicateValues& rule,
                    SharedValues& shared) {
  const auto num_bins = to_size(bins.num_bins());
  std::vector<ordered_metrics::CurveCounts> curves;
  for (std::int64_t i = turns.rank; i < turns.num_replicates; i += turns.world_size) {
    std::vector<std::optional<double>> found(to_size(rule.num_values));
    bins.fill(batch.subspan(to_size(i) * num_bins, num_bins), curves);
    rule.compute(curves, found);
    shared.set(turns.first_replicate + i, found);
    made_progress();
  }
}

}  // namespace

std::vector<std::vector<std::optional<double>>> bootstrap_curves(
    const comm::Communicator& comm, const ordered_metrics::ScoreRows& rows,
    const CurveBootstrap& options, const ReplicateValues& rule) {
  const ordered_metrics::ThresholdBins bins = agree_on_bins(comm, rows, options.keys);
  const std::int64_t num_bins = bins.num_bins();
  // It is the same on every rank, as the bins and the options are: the ranks must agree on the
  // number of sums below.
  const std::int64_t per_batch = std::max<std::int64_t>(
      1, options.max_batch_bytes / (num_bins * std::int64_t{sizeof(std::int64_t)}));
  std::optional<ReplicateCounts> replicates;
  std::optional<SharedValues> shared;
  std::vector<std::int64_t> counts;
  comm::agree_on(comm, [&] {
    replicates.emplace(rows, options, bins);
    shared.emplace(options.num_replicates, rule.num_values);
    counts.resize(to_size(std::min(per_batch, options.num_replicates) * num_bins));
  });
  for (std::int64_t first = 0; first < options.num_replicates; first += per_batch) {
    const std::int64_t num = std::min(per_batch, options.num_replicates - first);
    const auto batch = std::span(counts).first(to_size(num * num_bins));
    comm::agree_on(comm, [&] { replicates->count(first, batch); });
    comm.sum_in_place(batch);
    comm::agree_on(comm, [&] {
      const Turns turns{first, num, comm.rank(), comm.world_size()};
      compute_values(turns, batch, bins, rule, *shared);
    });
  }
  comm.sum_in_place(shared->values());
  std::vector<std::vector<std::optional<double>>> all;
  comm::agree_on(comm, [&] {
    for (std::int64_t r = 0; r < options.num_replicates; ++r) all.push_back(shared->get(r));
  });
  return all;
}

}  // namespace tally::distributed_metrics
