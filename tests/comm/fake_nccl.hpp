// SPDX-License-Identifier: Apache-2.0
// A table of calls that behaves like NCCL between processes of one node, and misbehaves on demand.
//
// Ranks meet in memory that they share: a call is through on a rank when all ranks have made it,
// and never if one does not; an aborted communicator is a remote error to the others.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nccl_calls.hpp"

namespace tally::comm {

enum class Misdeed {
  none,
  fails,       // the call itself returns a failure
  fails_late,  // the call says that all is well, async_error knows better
  stalls,      // nothing comes through any more
  lies,        // success, with a wrong result
};

struct Plan {
  Misdeed misdeed = Misdeed::none;
  std::string call;   // "init"
  int nth = 1;        // call of that name
  bool here = false;  // whether this rank is the one, or one of those, that misbehave
};

class FakeNccl {
 public:
  static constexpr int kVersion = 22809;
  static constexpr std::int64_t kCapacity = 64;  // values in one all-reduce

  // Collective over MPI_COMM_WORLD.
  FakeNccl();
  ~FakeNccl();
  FakeNccl(const FakeNccl&) = delete;
  FakeNccl& operator=(const FakeNccl&) = delete;

  // Collective. A new job with this plan; the table must not outlive the fake.
  NcclCalls calls(Plan plan);

  // What this rank's calls have come to since then.
  int num_calls(const std::string& call) const;
  bool has_misbehaved() const { return has_misbehaved_; }
  int num_live() const { return num_live_; }        // communicators not yet aborted or destroyed
  int num_unknown() const { return num_unknown_; }  // calls with a communicator that is none
  // The ranks that made the unique ids which this one's communicator began with.
  const std::vector<int>& id_makers() const { return id_makers_; }

 private:
  struct Slot {
    std::atomic<std::int64_t> step;  // collective calls that this rank has begun
    std::atomic<bool> is_aborted;
    std::int64_t values[kCapacity];
  };
  struct Sum {
    std::int64_t* values;
    std::size_t count;
  };

  // Counts the call; true where the plan says that it goes wrong.
  bool is_the_one(const char* call);
  NcclCode begin(const char* call, std::optional<Sum> sum);
  NcclCode end(const char* call, NcclHandle comm);
  NcclCode state(bool misbehaves);
  void add_up();
  Slot& slot(int rank) const { return slots_[rank]; }

  MPI_Win window_ = MPI_WIN_NULL;
  Slot* slots_ = nullptr;
  int rank_ = 0, size_ = 1;

  Plan plan_;
  std::map<std::string, int> num_calls_;
  std::vector<int> id_makers_;
  bool has_misbehaved_ = false;
  bool stalls_ = false;
  NcclCode late_ = NcclCode::success;
  bool lies_ = false;
  std::optional<Sum> pending_;
  int communicator_ = 0;  // its address is the handle
  int num_live_ = 0, num_unknown_ = 0;
};

}  // namespace tally::comm
