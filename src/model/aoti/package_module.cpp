// SPDX-License-Identifier: Apache-2.0
#include "aoti/package_module.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>

#include <c10/core/InferenceMode.h>
#include <torch/csrc/inductor/aoti_runner/model_container_runner.h>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/libtorch/torch_errors.hpp>

#include "load_torch_libraries.hpp"

namespace tally::model {

// A file without a name, which is gone with its last user whatever becomes of the process.

// Holds `bytes`. Throws Error(environment).
UniqueDescriptor make_memfd(std::span<const std::byte> bytes);

// A path of this process's that leads to the open file. It differs from call to call, even for one
// descriptor number: the dynamic loader takes two libraries of one path for the same.
std::string fresh_path_of(const UniqueDescriptor& file);

namespace {

// Linux writes at most 2 GiB in one call.
void write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      throw Error(ErrorKind::environment,
                  format("a compiled model of {} bytes finds no room in "
                         "memory ({})",
                         bytes.size(), errno_text(errno)),
                  "Use fewer ranks on this node.");
    }
    bytes = bytes.subspan(to_size(written));
  }
}

}  // namespace

UniqueDescriptor make_memfd(std::span<const std::byte> bytes) {
  UniqueDescriptor file(memfd_create("tally-model", MFD_CLOEXEC));
  if (!file) {
    throw Error(
        ErrorKind::environment,
        format("this system gives no memory file for a compiled model ({})", errno_text(errno)),
        "Export the model with --format torchscript.");
  }
  write_all(file.get(), bytes);
  return file;
}

std::string fresh_path_of(const UniqueDescriptor& file) {
  static std::atomic<std::size_t> num_paths{0};
  return format("/proc/self/fd/{}{}", std::string(num_paths++, '/'), file.get());
}

namespace {

using Runner = torch::inductor::AOTIModelContainerRunner;

void check_gpu(const Package& package, const device::Device& device) {
  if (package.compute_capability == device.compute_capability) return;
  throw Error(
      ErrorKind::model,
      format("model '{}' was compiled for GPUs of compute capability {}, this one ({}) has "
             "{}",
             package.name, package.compute_capability, device.model, device.compute_capability),
      "Export it on a machine with this kind of GPU.");
}

std::unique_ptr<Runner> make_runner(const Package& package, const device::Device& device) {
  const bool on_cuda = device.kind == DeviceKind::cuda;
  // The loader maps the file, which may be closed afterwards.
  const auto file = make_memfd(package.code);
  const auto& makers = torch::inductor::getAOTIModelRunnerRegistry();
  // Single-threaded: the other form takes turns on a lock, and on CUDA the host would wait for the
  // last run.
  return makers.at(package.device)(fresh_path_of(file), /*num_models=*/1,
                                   on_cuda ? format("cuda:{}", device.index) : "cpu",
                                   /*bin_dir=*/"", /*run_single_threaded=*/true);
}

}  // namespace

struct PackageModule::Impl {
  std::unique_ptr<Runner> runner;
};

PackageModule::PackageModule(const Package& package, const device::Device& device)
    : name_(package.name), num_outputs_(package.card->outputs.size()) {
  if (device.kind == DeviceKind::cuda) {
    load_cuda_support(device);
    check_gpu(package, device);
  } else {
    load_package_support();
  }
  try {
    const c10::InferenceMode guard;
    impl_ = std::make_unique<Impl>(Impl{make_runner(package, device)});
  } catch (...) {
    throw libtorch::torch_error(format("model '{}' cannot be loaded", name_),
                                "Export it again with data_tools/export_model.py --format pt2.");
  }
}

PackageModule::~PackageModule() = default;

Tensors PackageModule::run(Tensors inputs) {
  try {
    const c10::InferenceMode guard;
    // The runner takes the inputs over, and can free each after its last use.
    auto outputs = impl_->runner->boxed_run(std::move(inputs));
    // The card was checked against the file, but only a run shows how many tensors come back.
    if (outputs.size() == num_outputs_) return outputs;
    throw Error(ErrorKind::model, format("model '{}' returned {} tensors, its card names {}", name_,
                                         outputs.size(), num_outputs_));
  } catch (...) {
    throw libtorch::torch_error(format("model '{}' failed", name_),
                                "Check that the data set's inputs are what the model takes.");
  }
}

std::vector<NamedTensor> PackageModule::constants() const {
  std::vector<NamedTensor> found;
  for (const auto& [full_name, tensor] : impl_->runner->extract_constants_map(false)) {
    found.push_back({full_name, tensor});
  }
  return found;
}

}  // namespace tally::model
