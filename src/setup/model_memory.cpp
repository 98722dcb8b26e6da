// SPDX-License-Identifier: Apache-2.0
#include "model_memory.hpp"

#include <cstdint>
#include <filesystem>

#include <tally/base/available_memory.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/comm/agree.hpp>
#include <tally/device/gpus.hpp>

namespace tally::app {
namespace {

std::string gigabytes(std::int64_t bytes) {
  return format("{:.1f} GB", static_cast<double>(bytes) * 1e-9);
}

constexpr std::string_view kOneDevice =
    "A model that is split over several devices is not supported.";

// These precisions take half the memory of weights that are float32 in the file.
std::int64_t least_bytes(std::int64_t file_bytes, const std::string& precision) {
  return precision == "bf16" || precision == "fp16" ? file_bytes / 2 : file_bytes;
}

void check_gpu(const EvaluationSession& session, std::int64_t file_bytes) {
  const auto wanted = least_bytes(file_bytes, session.config.execution.precision);
  const auto free_bytes = device::free_bytes(session.hardware.device);
  if (wanted <= free_bytes) return;
  throw Error(
      ErrorKind::environment,
      format("model '{}' takes at least {}, GPU {} ({}) has {} of free memory",
             printable(session.config.files.model), gigabytes(wanted),
             session.hardware.device.index, session.hardware.device.model, gigabytes(free_bytes)),
      kOneDevice);
}

}  // namespace

void check_host_memory(std::string_view files, std::int64_t bytes, int local_world_size) {
  const auto available = available_memory_bytes();
  const auto wanted = bytes * local_world_size;
  if (!available || wanted <= *available) return;
  const auto of_ranks = local_world_size == 1
                            ? std::string()
                            : format(", {} with {} ranks", gigabytes(wanted), local_world_size);
  throw Error(
      ErrorKind::environment,
      format("{} has {}{}; this node has {} of free memory", files, gigabytes(bytes), of_ranks,
             gigabytes(*available)),
      local_world_size > 1 ? "Use fewer ranks on a node, of more --threads each." : kOneDevice);
}

void check_model_fits(const comm::Communicator& comm, const EvaluationSession& session) {
  std::error_code failure;
  std::int64_t file_bytes = 0;
  if (comm.is_root()) {
    const auto found = std::filesystem::file_size(session.config.files.model, failure);
    if (!failure) file_bytes = checked_cast<std::int64_t>(found);
  }
  // The other ranks have 0, and so has rank 0 where it cannot see the file: then reading it says
  // why.
  file_bytes = comm.max(file_bytes);
  comm::agree_on(comm, [&] {
    check_host_memory(printable(format("model '{}'", session.config.files.model)), file_bytes,
                      comm.local_world_size());
    if (session.hardware.device.kind == DeviceKind::cuda) check_gpu(session, file_bytes);
  });
}

}  // namespace tally::app
