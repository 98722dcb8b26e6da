// SPDX-License-Identifier: Apache-2.0
// Where ranks would compute on a cluster with GPUs: takes each entry of CUDA_VISIBLE_DEVICES for a
// GPU of this node, as launchers set it (where it is not set, those that Slurm counts on the node),
// and prints the placement or the line that refuses it. Needs no GPU, so that it tells what a
// launcher's options do: `srun --gpus-per-task=1 placement_canary`.
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/host_and_libraries.hpp>
#include <tally/comm/agree.hpp>
#include <tally/comm/agreed_placement.hpp>
#include <tally/comm/mpi_runtime.hpp>

namespace tally::comm {
namespace {

// "0,1,2," for three.
std::string all_of_the_node() {
  const char* count = std::getenv("SLURM_GPUS_ON_NODE");
  std::string entries;
  for (int gpu = 0; count != nullptr && gpu < std::atoi(count); ++gpu) {
    entries += format("{},", gpu);
  }
  return entries;
}

device::GpuInventory pretended() {
  device::GpuInventory inventory;
  inventory.driver_version = inventory.runtime_version = 13000;
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  std::istringstream entries(visible == nullptr ? all_of_the_node() : visible);
  for (std::string entry; std::getline(entries, entry, ',');) {
    inventory.gpus.push_back({.index = static_cast<int>(inventory.gpus.size()),
                              .uuid = format("GPU-{}-{}", host_name(), entry),
                              .name = "pretended GPU",
                              .compute_capability = "90"});
  }
  device::explain_absence(
      inventory, inventory.gpus.empty() ? device::GpuQuery::no_device : device::GpuQuery::found,
      visible, "");
  return inventory;
}

int guarded(int argc, char** argv) {
  Runtime runtime(&argc, &argv);
  const auto& world = runtime.world();
  const auto request = argc > 1 && std::string(argv[1]) == "cuda"
                           ? device::DeviceRequest::cuda
                           : device::DeviceRequest::automatic;
  try {
    const auto local = device::choose(request, world.local_rank(), pretended());
    const auto placement = agree_on_placement(world, request, local);
    for (const auto& line : device::placement_lines(placement.table)) std::puts(line.c_str());
    if (placement.shares_a_gpu && world.is_root()) std::puts("shared");
    return 0;
  } catch (const AgreedFailure& failure) {
    return exit_code(failure.kind);
  }
}

}  // namespace
}  // namespace tally::comm

int main(int argc, char** argv) {
  try {
    return tally::comm::guarded(argc, argv);
  } catch (const tally::Error& error) {
    std::fprintf(stderr, "%s\n", tally::comm::failure_line(error, 0, 1, "").c_str());
    tally::comm::abort_job(tally::exit_code(error.kind()));
  }
}
