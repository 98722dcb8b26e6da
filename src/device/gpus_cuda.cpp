// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/device/gpus.hpp>

namespace tally::device {
namespace {

GpuQuery query_of(cudaError_t code) {
  switch (code) {
    case cudaSuccess:
      return GpuQuery::found;
    case cudaErrorInsufficientDriver:
      return GpuQuery::insufficient_driver;
    case cudaErrorNoDevice:
      return GpuQuery::no_device;
    default:
      return GpuQuery::failed;
  }
}

Gpu gpu_from(int index, const cudaDeviceProp& properties) {
  std::array<std::byte, 16> uuid{};
  static_assert(sizeof properties.uuid.bytes == sizeof uuid);
  std::memcpy(uuid.data(), properties.uuid.bytes, uuid.size());
  return {.index = index,
          .uuid = uuid_text(uuid),
          .name = properties.name,
          .compute_capability = format("{}{}", properties.major, properties.minor),
          .pci_bus_id = format("{:04x}:{:02x}:{:02x}.0", properties.pciDomainID,
                               properties.pciBusID, properties.pciDeviceID)};
}

}  // namespace

GpuInventory list_gpus() {
  GpuInventory inventory;
  // Both leave 0 where they cannot tell. That there is no driver is not an error here.
  cudaDriverGetVersion(&inventory.driver_version);
  cudaRuntimeGetVersion(&inventory.runtime_version);
  int count = 0;
  cudaError_t code = cudaGetDeviceCount(&count);
  for (int index = 0; code == cudaSuccess && index < count; ++index) {
    cudaDeviceProp properties{};
    code = cudaGetDeviceProperties(&properties, index);
    if (code == cudaSuccess) inventory.gpus.push_back(gpu_from(index, properties));
  }
  if (code == cudaSuccess && count == 0) code = cudaErrorNoDevice;
  // One GPU that cannot be asked makes all of them count as absent: element i must have index i.
  if (code != cudaSuccess) {
    inventory.gpus.clear();
    cudaGetLastError();  // the next call that checks must not find this error
  }
  explain_absence(inventory, query_of(code), std::getenv("CUDA_VISIBLE_DEVICES"),
                  cudaGetErrorString(code));
  return inventory;
}

int cuda_header_version() { return CUDART_VERSION; }

void make_current(const Device& device) {
  if (device.kind != DeviceKind::cuda) return;
  const cudaError_t code = cudaSetDevice(device.index);
  if (code == cudaSuccess) return;
  throw Error(
      ErrorKind::environment,
      format("GPU {} ({}) cannot be used: {}", device.index, device.uuid, cudaGetErrorString(code)),
      "nvidia-smi shows its state.");
}

std::int64_t free_bytes(const Device& gpu) {
  make_current(gpu);
  std::size_t free = 0, total = 0;
  const cudaError_t code = cudaMemGetInfo(&free, &total);
  if (code == cudaSuccess) return static_cast<std::int64_t>(free);
  throw Error(ErrorKind::environment,
              format("GPU {} ({}) does not say how much memory it has: {}", gpu.index, gpu.uuid,
                     cudaGetErrorString(code)),
              "nvidia-smi shows its state.");
}

}  // namespace tally::device
