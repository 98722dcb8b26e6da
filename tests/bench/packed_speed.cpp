// SPDX-License-Identifier: Apache-2.0
// Times reading a whole data set whose columns are compressed: HDF5's read of one column, and what
// a run does, on one thread and on two.
//
//   packed_speed FILE COLUMN BATCH ROUNDS
//
// For each round a line with the bytes of COLUMN per second of: H5Dread of batch after batch, the
// codec alone (all chunks inflated on one thread, into as much memory as Tally fills), Tally on 1
// thread, on 2 threads.
#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/clock.hpp>
#include <tally/base/error.hpp>
#include <tally/data/batch_reader.hpp>
#include <tally/data/data_set.hpp>
#include <tally/digest/inflate.hpp>
#include <tally/hdf5/reader.hpp>

namespace {

using namespace tally;

// That a run fills in turn: one for each thread, one that is held, and one to go on with.
std::size_t num_slots(int threads) { return to_size(std::int64_t{threads} + 2); }

double seconds_of_hdf5(const hdf5::Dataset& rows, std::int64_t batch) {
  std::vector<std::byte> slot(to_size(batch * rows.info().row_bytes()));
  const Stopwatch watch;
  for (std::int64_t first = 0; first < rows.info().num_rows(); first += batch) {
    rows.read_rows(first, std::min(batch, rows.info().num_rows() - first), slot);
  }
  return watch.elapsed_s();
}

// The chunks as they are stored, which deflate alone has packed.
std::vector<std::vector<std::byte>> packed_chunks(const hdf5::Dataset& rows) {
  std::int64_t count = 1;
  for (const std::int64_t along : rows.info().chunk_grid()) count *= along;
  std::vector<std::vector<std::byte>> chunks(to_size(count));
  for (std::int64_t chunk = 0; chunk < count; ++chunk) {
    rows.read_raw_chunk(chunk, chunks[to_size(chunk)]);
  }
  return chunks;
}

double seconds_of_codec(const hdf5::Dataset& rows,
                        const std::vector<std::vector<std::byte>>& chunks, std::int64_t batch) {
  const auto size = to_size(rows.info().chunk_shape.at(0) * rows.info().row_bytes());
  std::vector<std::byte> slots(
      std::max(size, num_slots(1) * to_size(batch * rows.info().row_bytes())));
  const Stopwatch watch;
  std::size_t at = 0;
  for (const auto& chunk : chunks) {
    const auto out = std::span(slots).subspan(at, size);
    if (!digest::inflate_zlib(chunk, out)) throw Error(ErrorKind::dataset, "a chunk is damaged");
    at += size;
    if (at + size > slots.size()) at = 0;
  }
  return watch.elapsed_s();
}

double seconds_of_tally(const std::string& path, std::int64_t batch, int threads) {
  data::DataSet set(path);
  const plan::BatchGrid grid(set.info().num_samples, batch);
  std::vector<std::vector<std::byte>> slots(
      num_slots(threads), std::vector<std::byte>(to_size(data::slot_bytes(set.info(), batch))));
  const Stopwatch watch;
  data::BatchReader reader(set, grid, {0, grid.num_batches()}, {slots.begin(), slots.end()},
                           {.threads = threads, .held = 1});
  while (reader.next() != nullptr) {
  }
  return watch.elapsed_s();
}

int run(const std::vector<std::string>& words) {
  const hdf5::Reader file(words.at(0));
  const std::int64_t batch = std::stoll(words.at(2));
  for (int round = 0; round < std::stoi(words.at(3)); ++round) {
    const hdf5::Dataset rows = file.dataset("/inputs/" + words.at(1));  // with an empty cache
    const auto chunks = packed_chunks(rows);
    const double bytes = static_cast<double>(rows.info().num_rows() * rows.info().row_bytes());
    std::printf("%.6g %.6g", bytes / seconds_of_hdf5(rows, batch),
                bytes / seconds_of_codec(rows, chunks, batch));
    for (const int threads : {1, 2}) {
      std::printf(" %.6g", bytes / seconds_of_tally(words.at(0), batch, threads));
    }
    std::printf("\n");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "packed_speed: %s\n", error.what());
    return 2;
  }
}
