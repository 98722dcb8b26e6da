// SPDX-License-Identifier: Apache-2.0
#include <tally/comm/reducer.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/comm/agree.hpp>
#include <tally/trace/span_recording.hpp>

#include "nccl_calls.hpp"
#include "nccl_reducer.hpp"

namespace tally::comm {
namespace {

class MpiReducer final : public Reducer {
 public:
  explicit MpiReducer(const Communicator& comm) : comm_(comm) {}

  void sum(std::span<std::int64_t> values) override {
    const trace::Span span(trace::Kind::collective, "reduce");
    comm_.sum_in_place(values);
  }
  std::string_view name() const override { return "mpi"; }
  std::string description() const override { return "mpi"; }

 private:
  const Communicator& comm_;
};

void check_that_nccl_may_start(const device::Device& device) {
  if (device.kind != DeviceKind::cuda) {
    throw Error(ErrorKind::environment, "NCCL needs a GPU, and this run is on the CPU",
                "Use '--reduce mpi'.");
  }
  // Its value takes the place of the random number by which ranks know each other.
  if (std::getenv("NCCL_COMM_ID") != nullptr) {
    throw Error(ErrorKind::environment,
                "NCCL_COMM_ID is set: anybody on the network could join this job",
                "Unset it; the ranks find each other over MPI.");
  }
}

}  // namespace

std::unique_ptr<Reducer> make_reducer(ReduceRequest request, const device::Device& device,
                                      const Communicator& comm) {
  // Alone a rank has nothing to add up, and starting NCCL takes half a second.
  const bool pays = device.kind == DeviceKind::cuda && comm.world_size() > 1;
  const bool wants_nccl =
      request == ReduceRequest::nccl || (request == ReduceRequest::automatic && pays);
  if (!wants_nccl) return std::make_unique<MpiReducer>(comm);
  NcclCalls calls;
  agree_on(comm, [&] {
    check_that_nccl_may_start(device);
    calls = load_nccl();
  });
  return std::make_unique<NcclReducer>(comm, device, std::move(calls));
}

namespace {

// Rank 0 holds a piece of every rank at once, 64 MiB in all.
constexpr std::int64_t kGatheredValues = (std::int64_t{64} << 20) / sizeof(std::int64_t);

using Values = std::vector<std::int64_t>;

// Adds up rank after rank, modulo 2^64 as MPI's and NCCL's sums are.
Values added_up(const Values& gathered, std::size_t length) {
  Values sums(length);
  for (std::size_t i = 0; i < gathered.size(); ++i) {
    auto& sum = sums[i % length];
    sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) +
                                    static_cast<std::uint64_t>(gathered[i]));
  }
  return sums;
}

// Collective. The sum of a piece, on every rank, by gathering, adding on rank 0 and sending:
// without any reduction of a library, because that is what is checked.
Values sum_at_root(const Communicator& comm, std::span<const std::int64_t> local) {
  const auto length = local.size();
  Values gathered(comm.is_root() ? length * to_size(comm.world_size()) : 0);
  const Values one_row_each(to_size(comm.world_size()), 1);
  comm.gather_rows(std::as_bytes(local), std::ssize(local) * std::int64_t{sizeof(std::int64_t)},
                   one_row_each, std::as_writable_bytes(std::span(gathered)));
  std::vector<std::byte> bytes(length * sizeof(std::int64_t));
  if (comm.is_root()) {
    std::memcpy(bytes.data(), added_up(gathered, length).data(), bytes.size());
  }
  comm.broadcast(bytes);
  Values sums(length);
  std::memcpy(sums.data(), bytes.data(), bytes.size());
  return sums;
}

// "multiclass.correct[17]" for an element of the state.
std::string place_of(const exact::StateLayout& layout, std::int64_t element) {
  for (const auto& span : layout.spans()) {
    if (element >= span.offset && element < span.offset + span.length) {
      return format("{}[{}]", span.name, element - span.offset);
    }
  }
  return format("element {}", element);
}

}  // namespace

void verified_sum(Reducer& reducer, const Communicator& comm, exact::State& state) {
  Values local;
  // The reducer adds in place, so the second way needs a copy of what this rank had.
  agree_on(comm, [&] { local.assign(state.values().begin(), state.values().end()); });
  reducer.sum(state.values());
  const auto piece = std::max<std::int64_t>(1, kGatheredValues / comm.world_size());
  for (std::int64_t first = 0; first < std::ssize(local); first += piece) {
    const auto count = to_size(std::min(piece, std::ssize(local) - first));
    const auto found = state.values().subspan(to_size(first), count);
    const Values expected =
        sum_at_root(comm, std::span<const std::int64_t>(local).subspan(to_size(first), count));
    agree_on(comm, [&] {
      const auto [here, there] = std::ranges::mismatch(found, expected);
      if (here == found.end()) return;
      throw Error(ErrorKind::internal,
                  format("the reduction over {} is wrong: {} is {}, but {} when rank 0 adds it up",
                         reducer.name(), place_of(state.layout(), first + (here - found.begin())),
                         *here, *there),
                  "Do not trust this machine's reduction; '--reduce mpi' does without NCCL.");
    });
  }
}

}  // namespace tally::comm
