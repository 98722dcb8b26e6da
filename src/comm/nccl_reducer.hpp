// SPDX-License-Identifier: Apache-2.0
// The reducer over NCCL, watched from the host: nothing here waits for NCCL without a limit, and
// what one rank meets all ranks leave for together. No type of NCCL or CUDA: the calls come as a
// table.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/error.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/comm/reducer.hpp>
#include <tally/device/buffer.hpp>
#include <tally/device/device.hpp>
#include <tally/device/stream.hpp>

#include "nccl_calls.hpp"

namespace tally::comm {

// Time as the watch sees it; tests bring their own.
struct NcclPatience {
  // For one phase, and as much again for a peer that does not come to say how it went. On a machine
  // it is twice stall_limit() of base/activity.hpp.
  std::chrono::nanoseconds limit = std::chrono::seconds(120);
  std::function<std::chrono::nanoseconds()> now;          // monotonic
  std::function<void()> rest;                             // between two looks
  std::function<void(std::function<void()> work)> aside;  // does it on a thread of its own

  static NcclPatience of_this_machine();
};

struct NcclSizes {
  std::int64_t piece = std::int64_t{1} << 22;  // values in one all-reduce
  // Ranks that meet by one unique id. All by one would go through one process: NCCL lets 7,000 a
  // second speak to it above 256 ranks (NCCL_UID_STAGGER_RATE).
  int ranks_per_id = 128;
};

class NcclReducer final : public Reducer {
 public:
  // Collective. Agrees on the version of NCCL and makes the communicator; a state is added up in
  // pieces. After a failure of one rank all throw AgreedFailure(environment), of which stalled is a
  // phase that does not end in time, and the communicator is aborted. Where a peer does not answer
  // at all, the job is ended by fail_job(), without another call of NCCL. `comm` must outlive the
  // reducer.
  NcclReducer(const Communicator& comm, const device::Device& device, NcclCalls calls,
              NcclPatience patience = NcclPatience::of_this_machine(), NcclSizes sizes = {});
  // Collective, unless an exception unwinds: then peers may never come, and NCCL is left alone.
  ~NcclReducer() override;
  NcclReducer(const NcclReducer&) = delete;
  NcclReducer& operator=(const NcclReducer&) = delete;

  // Throws as the constructor does. After a failure the reducer is only to be destroyed.
  void sum(std::span<std::int64_t> values) override;
  std::string_view name() const override { return "nccl"; }
  std::string description() const override;

 private:
  // How far a rank is with a phase, in numbers that nccl_reducer.cpp names.
  struct Report {
    std::int64_t vote = 0;
    std::optional<Error> error;
  };
  // How a phase ended on all ranks; `local` is this rank's part in a failure, if it had one.
  struct Outcome {
    bool failed = false;
    std::optional<Error> local;
  };

  void check_version();
  std::vector<NcclUniqueId> unique_ids();
  void make_communicator();
  void sum_piece(std::span<std::int64_t> values);
  void close();
  Report look(std::string_view phase, const std::function<bool()>& is_through,
              std::chrono::nanoseconds begin) const;
  Outcome watch(std::string_view phase, const std::function<bool()>& is_through);
  void require(const Outcome& outcome);
  bool is_ready(std::string_view phase) const;
  void check(NcclCode code, std::string_view phase) const;
  void abort();

  const Communicator& comm_;
  const NcclCalls calls_;
  const NcclPatience patience_;
  const NcclSizes sizes_;
  int version_ = 0;
  std::optional<device::Stream> stream_;
  device::HostBuffer host_;
  device::DeviceBuffer on_device_;
  NcclHandle nccl_ = nullptr;
};

}  // namespace tally::comm
