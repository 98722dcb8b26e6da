#include "agree_on_bins.hpp"

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/comm/agree.hpp>
#include <tally/comm/windowed_all_gather.hpp>
#include <tally/ordered_metrics/distinct_keys.hpp>

namespace tally::distributed_metrics {
namespace {

constexpr std::int64_t kShareBytes = std::int64_t{64} << 20;  // at a time, from all ranks together

}  // namespace

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

}  // namespace tally::distributed_metrics
