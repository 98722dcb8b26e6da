// SPDX-License-Identifier: Apache-2.0
#include <tally/comm/notices.hpp>

#include <numeric>

#include <tally/base/activity.hpp>
#include <tally/base/checked_cast.hpp>

#include "mpi_handles.hpp"

namespace tally::comm {
namespace {

// There are no other messages from one rank to another in a communicator of this room.
constexpr int kFirstTag = 1000;

int tag_of(Notice notice) { return kFirstTag + static_cast<int>(notice); }

Communicator::Impl::NoticeCounts& counts_of(const Communicator::Impl& impl, Notice notice) {
  return notice == Notice::stop ? impl.stop_notices : impl.failure_notices;
}

// A message without content: nothing has to outlive the call.
void send(const Communicator::Impl& impl, Notice notice, int rank) {
  MPI_Request request = MPI_REQUEST_NULL;
  impl.check(MPI_Isend(nullptr, 0, MPI_BYTE, rank, tag_of(notice), impl.comm.get(), &request),
             "MPI_Isend");
  impl.check(MPI_Request_free(&request), "MPI_Request_free");
}

void receive(const Communicator::Impl& impl, Notice notice) {
  impl.check(MPI_Recv(nullptr, 0, MPI_BYTE, MPI_ANY_SOURCE, tag_of(notice), impl.comm.get(),
                      MPI_STATUS_IGNORE),
             "MPI_Recv");
  ++counts_of(impl, notice).received;
}

}  // namespace

void send_notice(const Communicator& comm, Notice notice) {
  const auto& impl = comm.impl();
  auto& counts = counts_of(impl, notice);
  if (counts.sent++ > 0) return;
  for (int rank = 0; rank < impl.world_size; ++rank) {
    if (rank != impl.rank) send(impl, notice, rank);
  }
}

bool has_notice(const Communicator& comm, Notice notice) {
  const auto& impl = comm.impl();
  if (impl.world_size == 1) return false;
  auto& counts = counts_of(impl, notice);
  if (counts.received > 0) return true;
  int has_come = 0;
  impl.check(
      MPI_Iprobe(MPI_ANY_SOURCE, tag_of(notice), impl.comm.get(), &has_come, MPI_STATUS_IGNORE),
      "MPI_Iprobe");
  if (has_come == 0) return false;
  receive(impl, notice);
  return true;
}

void settle_notices(const Communicator& comm) {
  const auto& impl = comm.impl();
  auto& counts = counts_of(impl, Notice::stop);
  const std::int64_t own = counts.sent > 0 ? 1 : 0;
  const auto senders = comm.all_gather(own);
  const auto all = std::accumulate(senders.begin(), senders.end(), std::int64_t{0});
  const ActivityScope waiting(Activity::wait_for_ranks);
  while (counts.received < all - own) receive(impl, Notice::stop);
  counts = {};
}

}  // namespace tally::comm
