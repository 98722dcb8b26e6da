// SPDX-License-Identifier: Apache-2.0
// Seconds to bring the columns of predictions.h5 from all ranks to rank 0, in memory.
//
//   mpirun -n RANKS gather_speed ROWS ROUNDS
//
// ROWS in all, shared out evenly. Rank 0 prints a line of seconds for each round.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/clock.hpp>
#include <tally/comm/mpi_runtime.hpp>
#include <tally/comm/windowed_gather.hpp>

namespace {

using namespace tally;

constexpr std::int64_t kWindowBytes = std::int64_t{64} << 20;

// index, label, prediction, label_rank, loss, confidence
const std::vector<std::int64_t> kRowBytes{8, 8, 8, 4, 4, 4};

double seconds_of_gather(const comm::Communicator& comm, std::int64_t num_rows) {
  std::vector<std::vector<std::byte>> local;
  std::vector<std::vector<std::byte>> all;
  for (const std::int64_t bytes : kRowBytes) {
    local.emplace_back(to_size(bytes * num_rows), std::byte{1});
    if (comm.is_root()) all.emplace_back(to_size(bytes * num_rows * comm.world_size()));
  }
  std::vector<std::size_t> filled(kRowBytes.size());
  const comm::RowSource source{
      num_rows, kRowBytes,
      [&](std::int64_t column, std::int64_t first, std::int64_t, std::span<std::byte> out) {
        const auto begin = to_size(first * kRowBytes[to_size(column)]);
        std::memcpy(out.data(), &local[to_size(column)][begin], out.size());
      }};
  comm.barrier();
  const Stopwatch watch;
  comm::gather_in_order(comm, source, kWindowBytes,
                        [&](std::int64_t column, std::int64_t, std::span<const std::byte> rows) {
                          auto& at = filled[to_size(column)];
                          std::memcpy(&all[to_size(column)][at], rows.data(), rows.size());
                          at += rows.size();
                        });
  return watch.elapsed_s();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: gather_speed ROWS ROUNDS\n", stderr);
    return 2;
  }
  comm::Runtime runtime(&argc, &argv);
  const auto& world = runtime.world();
  const std::int64_t num_rows = std::stoll(argv[1]) / world.world_size();
  for (int round = 0; round < std::stoi(argv[2]); ++round) {
    const double seconds = seconds_of_gather(world, num_rows);
    if (world.is_root()) std::printf("%.6f\n", seconds);
  }
  return 0;
}
