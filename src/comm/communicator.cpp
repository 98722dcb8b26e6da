// SPDX-License-Identifier: Apache-2.0
#include <tally/comm/communicator.hpp>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include <tally/base/activity.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/comm/agree.hpp>

#include "collective_scope.hpp"
#include "mpi_handles.hpp"
#include "node_memory.hpp"

namespace tally::comm {
namespace {

// Calls `step(offset, count)` for consecutive pieces of at most `max_piece` elements: MPI counts
// elements in int.
template <class Step>
void in_pieces(std::int64_t num_elements, std::int64_t max_piece, const Step& step) {
  for (std::int64_t offset = 0; offset < num_elements; offset += max_piece) {
    step(offset, checked_cast<int>(std::min(max_piece, num_elements - offset)));
    made_progress();
  }
}

template <class Bytes>  // a string or a vector of bytes
void broadcast_resizing(const Communicator& comm, const Communicator::Impl& impl, Bytes& bytes,
                        int root = 0) {
  const CollectiveScope scope("broadcast");
  auto num_bytes = checked_cast<std::int64_t>(bytes.size());
  impl.check(MPI_Bcast(&num_bytes, 1, MPI_INT64_T, root, impl.comm.get()), "MPI_Bcast");
  // A rank without memory must not leave the others waiting in the broadcast.
  agree_on(comm, [&] { bytes.resize(to_size(num_bytes)); });
  in_pieces(num_bytes, impl.max_piece, [&](std::int64_t offset, int count) {
    impl.check(MPI_Bcast(bytes.data() + offset, count, MPI_BYTE, root, impl.comm.get()),
               "MPI_Bcast");
  });
}

}  // namespace

Communicator::Communicator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Communicator::~Communicator() = default;

int Communicator::rank() const { return impl_->rank; }
int Communicator::world_size() const { return impl_->world_size; }
int Communicator::local_rank() const { return impl_->local_rank; }
int Communicator::local_world_size() const { return impl_->local_world_size; }

void Communicator::broadcast(std::vector<std::byte>& bytes, int root) const {
  broadcast_resizing(*this, *impl_, bytes, root);
}

std::string Communicator::broadcast(std::string text, int root) const {
  broadcast_resizing(*this, *impl_, text, root);
  return text;
}

std::vector<std::int64_t> Communicator::all_gather(std::int64_t value) const {
  const CollectiveScope scope("all_gather");
  std::vector<std::int64_t> values(to_size(world_size()));
  impl_->check(
      MPI_Allgather(&value, 1, MPI_INT64_T, values.data(), 1, MPI_INT64_T, impl_->comm.get()),
      "MPI_Allgather");
  return values;
}

std::vector<std::string> Communicator::gather(std::string_view text) const {
  const auto lengths = all_gather(std::ssize(text));
  std::string all;
  if (is_root())
    all.resize(to_size(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0})));
  // One byte is one row, so that texts of any length are gathered in windows.
  gather_rows(std::as_bytes(std::span(text)), 1, lengths, std::as_writable_bytes(std::span(all)));
  std::vector<std::string> texts;
  std::size_t next = 0;
  for (std::size_t i = 0; is_root() && i < lengths.size(); ++i) {
    texts.push_back(all.substr(next, to_size(lengths[i])));
    next += to_size(lengths[i]);
  }
  return texts;
}

void Communicator::sum_in_place(std::span<std::int64_t> values) const {
  const CollectiveScope scope("all_reduce");
  // Integers add up to the same bits in any order, so the pieces change nothing.
  in_pieces(std::ssize(values), impl_->max_piece, [&](std::int64_t offset, int count) {
    impl_->check(MPI_Allreduce(MPI_IN_PLACE, values.data() + offset, count, MPI_INT64_T, MPI_SUM,
                               impl_->comm.get()),
                 "MPI_Allreduce");
  });
}

std::int64_t Communicator::max(std::int64_t value) const {
  const CollectiveScope scope("all_reduce");
  impl_->check(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_MAX, impl_->comm.get()),
               "MPI_Allreduce");
  return value;
}

std::optional<std::int64_t> Communicator::max_or_abandon(
    std::int64_t value, const std::function<bool()>& give_up) const {
  const CollectiveScope scope("all_reduce");
  // The value lies on the heap and is given up together with the call: MPI may still write there.
  auto largest = std::make_unique<std::int64_t>(value);
  MPI_Request request = MPI_REQUEST_NULL;
  impl_->check(MPI_Iallreduce(MPI_IN_PLACE, largest.get(), 1, MPI_INT64_T, MPI_MAX,
                              impl_->comm.get(), &request),
               "MPI_Iallreduce");
  for (;;) {
    int is_done = 0;
    impl_->check(MPI_Test(&request, &is_done, MPI_STATUS_IGNORE), "MPI_Test");
    if (is_done != 0) return *largest;
    if (give_up()) {
      static_cast<void>(largest.release());
      return std::nullopt;
    }
    std::this_thread::yield();
  }
}

void Communicator::barrier() const {
  const CollectiveScope scope("barrier");
  impl_->check(MPI_Barrier(impl_->comm.get()), "MPI_Barrier");
}

void Communicator::wait_for_root() const {
  const CollectiveScope scope("wait_for_root");
  constexpr std::chrono::milliseconds kNap{5};
  char word = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  impl_->check(MPI_Ibcast(&word, 1, MPI_CHAR, 0, impl_->comm.get(), &request), "MPI_Ibcast");
  for (int is_done = 0;;) {
    impl_->check(MPI_Test(&request, &is_done, MPI_STATUS_IGNORE), "MPI_Test");
    if (is_done != 0) return;
    // MPI's own waiting is a loop that would take a core from the rank that works.
    std::this_thread::sleep_for(kNap);
  }
}

std::span<std::byte> Communicator::node_memory() const {
  return memory_of_ranks(impl_->node_memory);
}

void Communicator::set_max_piece(std::int64_t elements) {
  // This is the largest power of two that an int holds.
  constexpr std::int64_t kLargest = std::int64_t{1} << 30;
  if (elements < 1 || elements > kLargest) {
    throw Error(ErrorKind::internal, "a piece of an MPI message holds 1 to 2^30 elements");
  }
  impl_->max_piece = elements;
}

}  // namespace tally::comm
