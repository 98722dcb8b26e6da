// SPDX-License-Identifier: Apache-2.0
// What a bare forward pass takes of private memory, to set beside what a whole run takes.
//
//   forward_memory MODEL DATA BATCH_SIZE
//
// One line of bytes: of the process with its libraries but without a model, and after some forward
// passes. Freed memory stays with the process, so that this is the peak.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <tally/base/allocator.hpp>
#include <tally/base/files.hpp>
#include <tally/data/batch_reader.hpp>
#include <tally/data/data_set.hpp>
#include <tally/device/buffer.hpp>
#include <tally/evaluate/input_mapping.hpp>
#include <tally/model/loaded_model.hpp>

namespace {

using namespace tally;

constexpr int kPasses = 5;

// Private pages of this process, as the kernel counts them.
std::int64_t private_bytes() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  std::int64_t kib = 0;
  for (std::string line; std::getline(rollup, line);) {
    if (line.starts_with("Private_")) kib += std::stoll(line.substr(line.find(':') + 1));
  }
  return kib * 1024;
}

void measure(const std::vector<std::string>& words) {
  const std::int64_t batch_size = std::stoll(words.at(2));
  data::DataSet set(words.at(1));
  const device::Stream stream{device::Device()};
  const std::int64_t initialised = private_bytes();
  std::int64_t peak = 0;
  {
    std::vector<std::byte> bytes = read_file(words.at(0), ErrorKind::model, "model");
    const auto predictor = model::load_predictor({words.at(0), bytes}, {});
    std::vector<std::byte>().swap(bytes);
    auto bindings = evaluate::map_inputs(set.info(), *predictor, batch_size, stream.device());
    const auto num_bytes = data::slot_bytes(set.info(), batch_size);
    device::HostBuffer first(num_bytes, stream.device());
    device::HostBuffer second(num_bytes, stream.device());
    data::BatchReader reader(set, {set.info().num_samples, batch_size}, {0, 1},
                             {first.bytes(), second.bytes()});
    const auto prepared = evaluate::prepare(*reader.next(), bindings.bindings, stream);
    for (int pass = 0; pass < kPasses; ++pass) predictor->predict(prepared);
    peak = private_bytes();
  }
  std::printf("%lld %lld\n", static_cast<long long>(initialised), static_cast<long long>(peak));
}

}  // namespace

int main(int argc, char** argv) {
  tally::keep_freed_memory();  // as the program does
  try {
    measure({argv + 1, argv + argc});
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "forward_memory: %s\n", error.what());
    return 2;
  }
}
