// SPDX-License-Identifier: Apache-2.0
#include "fake_nccl.hpp"

#include <algorithm>
#include <new>

namespace tally::comm {

FakeNccl::FakeNccl() {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  const MPI_Aint num_bytes = rank_ == 0 ? static_cast<MPI_Aint>(sizeof(Slot)) * size_ : 0;
  void* local = nullptr;
  MPI_Win_allocate_shared(num_bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &local, &window_);
  MPI_Aint size = 0;
  int unit = 0;
  MPI_Win_shared_query(window_, 0, &size, &unit, static_cast<void*>(&slots_));
}

FakeNccl::~FakeNccl() { MPI_Win_free(&window_); }

int FakeNccl::num_calls(const std::string& call) const {
  const auto found = num_calls_.find(call);
  return found == num_calls_.end() ? 0 : found->second;
}

bool FakeNccl::is_the_one(const char* call) {
  const int count = ++num_calls_[call];
  if (!plan_.here || plan_.misdeed == Misdeed::none) return false;
  const bool now = plan_.call == call && plan_.nth == count;
  has_misbehaved_ = has_misbehaved_ || now;
  return now;
}

// A call in which all ranks meet.
NcclCode FakeNccl::begin(const char* call, std::optional<Sum> sum) {
  if (is_the_one(call)) {
    if (plan_.misdeed == Misdeed::fails) return NcclCode::system_error;
    if (plan_.misdeed == Misdeed::fails_late) late_ = NcclCode::internal_error;
    if (plan_.misdeed == Misdeed::stalls) stalls_ = true;
    if (plan_.misdeed == Misdeed::lies) lies_ = true;
  }
  if (sum) std::copy_n(sum->values, sum->count, slot(rank_).values);
  pending_ = sum;
  if (!stalls_) slot(rank_).step.fetch_add(1);
  return NcclCode::in_progress;
}

void FakeNccl::add_up() {
  std::fill_n(pending_->values, pending_->count, lies_ ? 1 : 0);
  for (int rank = 0; rank < size_; ++rank) {
    for (std::size_t i = 0; i < pending_->count; ++i) {
      pending_->values[i] += slot(rank).values[i];
    }
  }
  pending_.reset();
}

// What async_error finds.
NcclCode FakeNccl::state(bool misbehaves) {
  if (misbehaves && plan_.misdeed == Misdeed::stalls) stalls_ = true;
  if (misbehaves && plan_.misdeed != Misdeed::stalls) return NcclCode::internal_error;
  if (late_ != NcclCode::success) return late_;
  if (stalls_) return NcclCode::in_progress;
  bool all_are_here = true;
  for (int rank = 0; rank < size_; ++rank) {
    if (slot(rank).is_aborted) return NcclCode::remote_error;
    all_are_here = all_are_here && slot(rank).step >= slot(rank_).step;
  }
  if (!all_are_here) return NcclCode::in_progress;
  if (pending_) add_up();
  return NcclCode::success;
}

// Abort or destroy.
NcclCode FakeNccl::end(const char* call, NcclHandle comm) {
  const bool fails = is_the_one(call);
  num_live_ -= comm == &communicator_ ? 1 : 0;
  num_unknown_ += comm == &communicator_ ? 0 : 1;
  return fails ? NcclCode::unhandled_cuda_error : NcclCode::success;
}

NcclCalls FakeNccl::calls(Plan plan) {
  MPI_Barrier(MPI_COMM_WORLD);
  plan_ = std::move(plan);
  num_calls_.clear();
  has_misbehaved_ = stalls_ = lies_ = false;
  late_ = NcclCode::success;
  pending_.reset();
  num_live_ = num_unknown_ = 0;
  new (&slot(rank_)) Slot{};
  MPI_Barrier(MPI_COMM_WORLD);

  NcclCalls calls;
  calls.header_version = kVersion;
  calls.path = "/fake/libnccl.so.2";
  calls.get_version = [this](int& version) {
    const bool wrong = is_the_one("get_version");
    version = wrong && plan_.misdeed == Misdeed::lies ? 22304 : kVersion;
    return wrong && plan_.misdeed != Misdeed::lies ? NcclCode::system_error : NcclCode::success;
  };
  calls.get_unique_id = [this](NcclUniqueId& id) {
    id.fill(static_cast<std::byte>(rank_ + 7));
    return is_the_one("get_unique_id") ? NcclCode::system_error : NcclCode::success;
  };
  calls.init = [this](NcclHandle& comm, int world_size, std::span<const NcclUniqueId> ids,
                      int rank) {
    if (world_size != size_ || rank != rank_) ++num_unknown_;
    id_makers_.clear();
    for (const NcclUniqueId& id : ids) id_makers_.push_back(static_cast<int>(id[127]) - 7);
    const NcclCode code = begin("init", std::nullopt);
    comm = code == NcclCode::in_progress ? &communicator_ : nullptr;
    num_live_ += comm != nullptr ? 1 : 0;
    return code;
  };
  calls.async_error = [this](NcclHandle comm, NcclCode& found) {
    num_unknown_ += comm == &communicator_ ? 0 : 1;
    found = state(is_the_one("async_error"));
    return NcclCode::success;
  };
  calls.all_reduce_int64_sum = [this](std::int64_t* values, std::size_t count, NcclHandle comm,
                                      void*) {
    num_unknown_ += comm == &communicator_ ? 0 : 1;
    return begin("all_reduce", Sum{values, count});
  };
  calls.last_error = [](NcclHandle) { return std::string("planted"); };
  calls.finalize = [this](NcclHandle comm) {
    num_unknown_ += comm == &communicator_ ? 0 : 1;
    return begin("finalize", std::nullopt);
  };
  calls.destroy = [this](NcclHandle comm) { return end("destroy", comm); };
  calls.abort = [this](NcclHandle comm) {
    slot(rank_).is_aborted = true;
    return end("abort", comm);
  };
  return calls;
}

}  // namespace tally::comm
