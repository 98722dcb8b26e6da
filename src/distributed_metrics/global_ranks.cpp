#include "global_ranks.hpp"

#include <optional>
#include <span>

#include <tally/comm/agree.hpp>
#include <tally/comm/windowed_all_gather.hpp>

namespace tally::distributed_metrics {
namespace {

using ordered_metrics::WeightedValue;

constexpr std::int64_t kGatheredBytes = std::int64_t{64}
                                        << 20;  // at a time, from all ranks together

}  // namespace

std::vector<std::int64_t> global_ranks(const comm::Communicator& comm,
                                       const ordered_metrics::RankedColumn& column,
                                       const ordered_metrics::Weights& weights) {
  std::vector<WeightedValue> local;
  std::optional<ordered_metrics::WeightsBelow> below;
  comm::agree_on(comm, [&] {
    local = column.weighted_values(weights);
    below.emplace(column.distinct());
  });
  comm::windowed_all_gather(
      comm, std::as_bytes(std::span(local)), sizeof(WeightedValue), kGatheredBytes,
      [&](std::int64_t, std::span<const std::byte> values) { below->add(values); });
  std::vector<std::int64_t> ranks;
  comm::agree_on(comm, [&] { ranks = column.spread(below->centred()); });
  return ranks;
}

}  // namespace tally::distributed_metrics
