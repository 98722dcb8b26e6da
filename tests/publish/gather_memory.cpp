// SPDX-License-Identifier: Apache-2.0
// What rank 0 takes of private memory to write texts of any length that the ranks predicted.
//
//   mpirun -n RANKS gather_memory ROWS LONGEST LOG_MIB WINDOW_MIB MOST_MIB FOLDER
//
// ROWS texts of 0 to LONGEST bytes in all, shared out evenly; a rank's log holds LOG_MIB of them
// and spills the others to FOLDER, where the file is written, too, and removed. Prints the bytes
// above those of the initialised process; exit 1 where they are more than MOST_MIB.
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/clock.hpp>
#include <tally/comm/mpi_runtime.hpp>

#include "gather_predictions.hpp"
#include "publish_predictions.hpp"

namespace {

using namespace tally;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kBatchRows = 64;

struct Words {
  std::int64_t num_rows, longest, log_bytes, window_bytes, most_bytes;
  std::filesystem::path folder;
};

// Private pages of this process, as the kernel counts them.
std::int64_t private_bytes() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  std::int64_t kib = 0;
  for (std::string line; std::getline(rollup, line);) {
    if (line.starts_with("Private_")) kib += std::stoll(line.substr(line.find(':') + 1));
  }
  return kib * 1024;
}

predictions::PredictionLog filled_log(const Words& words, std::int64_t first, std::int64_t end) {
  predictions::PredictionLog log({{"index", DType::i64, {}}, {"answer", DType::u8, {}, true}},
                                 words.folder, words.log_bytes);
  std::mt19937_64 random(static_cast<std::uint64_t>(first));
  std::uniform_int_distribution<std::int64_t> length(0, words.longest);
  predictions::RecordBatch batch;
  for (; first < end; first += batch.num_rows) {
    batch.num_rows = std::min(kBatchRows, end - first);
    batch.columns.assign(2, {});
    batch.lengths.assign(2, {});
    std::int64_t num_bytes = 0;
    for (std::int64_t i = 0; i < batch.num_rows; ++i) {
      batch.lengths[1].push_back(length(random));
      num_bytes += batch.lengths[1].back();
    }
    batch.columns[0].resize(to_size(batch.num_rows) * sizeof(std::int64_t));
    batch.columns[1].assign(to_size(num_bytes), std::byte{'x'});
    log.append(batch);
  }
  return log;
}

// Freed memory stays with the process, so that what it has at the end is the peak.
bool measure(const comm::Communicator& world, const Words& words) {
  world.barrier();
  const std::int64_t initialised = private_bytes();
  const Stopwatch watch;
  const auto first_of = [&](std::int64_t rank) {
    return words.num_rows * rank / world.world_size();
  };
  const auto log = filled_log(words, first_of(world.rank()), first_of(world.rank() + 1));
  auto writer = app::gather_columns(world, log, words.num_rows, words.window_bytes,
                                    words.folder / "gather_memory.h5");
  if (!writer) return true;
  publish(*writer);
  const std::int64_t taken = private_bytes() - initialised;
  std::printf("%lld bytes (%.1f MiB), %.1f s\n", static_cast<long long>(taken),
              static_cast<double>(taken) / kMiB, watch.elapsed_s());
  std::filesystem::remove(words.folder / "gather_memory.h5");
  return taken <= words.most_bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fputs("usage: gather_memory ROWS LONGEST LOG_MIB WINDOW_MIB MOST_MIB FOLDER\n", stderr);
    return 2;
  }
  // As the program does it.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, -1);
  const auto number = [&](int word) { return std::int64_t{std::stoll(argv[word])}; };
  const Words words{number(1),        number(2),        number(3) * kMiB,
                    number(4) * kMiB, number(5) * kMiB, argv[6]};
  comm::Runtime runtime(&argc, &argv);
  return measure(runtime.world(), words) ? 0 : 1;
}
