// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <exception>
#include <string_view>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/openvino/network.hpp>

#include "engine_library.hpp"

namespace tally::openvino {
namespace {

Error cannot_load(std::string_view reason) {
  return {ErrorKind::environment,
          format("ONNX models need OpenVINO, which this tally cannot load ({})", reason),
          "Build with 'jobs/setup.sh --with-openvino', or export the model as TorchScript."};
}

// For good: OpenVINO's threads would run code that is gone.
const Engine& open_engine() {
  void* const library = dlopen(kEngineLibrary, RTLD_NOW | RTLD_LOCAL);
  void* const make = library == nullptr ? nullptr : dlsym(library, kEngineFunction);
  if (make == nullptr) {
    const char* reason = dlerror();
    throw cannot_load(reason == nullptr ? "no reason was given" : reason);
  }
  try {
    return *reinterpret_cast<EngineFunction>(make)();
  } catch (const std::exception& error) {
    throw cannot_load(error.what());
  }
}

}  // namespace

const Engine& engine() {
  static const Engine& opened = open_engine();
  return opened;
}

}  // namespace tally::openvino
