// SPDX-License-Identifier: Apache-2.0
#include <tally/distributed_metrics/gather_margins.hpp>

#include <cstdint>

#include <tally/base/checked_cast.hpp>
#include <tally/comm/agree.hpp>

namespace tally::distributed_metrics {

std::vector<ordered_metrics::AnswerMargin> gather_margins(
    const comm::Communicator& comm, std::span<const ordered_metrics::AnswerMargin> local) {
  const auto counts = comm.all_gather(std::ssize(local));
  std::int64_t total = 0;
  for (const std::int64_t count : counts) total += count;
  std::vector<ordered_metrics::AnswerMargin> all;
  comm::agree_on(comm, [&] {
    if (comm.is_root()) all.resize(to_size(total));
  });
  comm.gather_rows(std::as_bytes(local), sizeof(ordered_metrics::AnswerMargin), counts,
                   std::as_writable_bytes(std::span(all)));
  return all;
}

}  // namespace tally::distributed_metrics
