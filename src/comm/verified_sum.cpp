#include <tally/comm/verified_sum.hpp>

#include <algorithm>
#include <cstring>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/comm/agree.hpp>

namespace tally::comm {
namespace {

constexpr std::int64_t kGatheredValues = (std::int64_t{64} << 20) / sizeof(std::int64_t);

using Values = std::vector<std::int64_t>;

// Rank after rank, modulo 2^64 as MPI's and NCCL's sums are.
Values added_up(const Values& gathered, std::size_t length) {
  Values sums(length);
  for (std::size_t i = 0; i < gathered.size(); ++i) {
    auto& sum = sums[i % length];
    sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) +
                                    static_cast<std::uint64_t>(gathered[i]));
  }
  return sums;
}

// Collective. The sum of a piece, on every rank, without any reduction of the library.
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
