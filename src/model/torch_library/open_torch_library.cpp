// SPDX-License-Identifier: Apache-2.0
// The functions of torch_functions.hpp as the program has them: each calls its namesake in the
// library. They are compiled with hidden visibility, so that within the library the same names mean
// the functions there.
#include <dlfcn.h>

#include <tally/base/build_info.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "torch_library/torch_functions.hpp"

namespace tally::model {
namespace {

Error cannot_load(std::string_view reason) {
  return {ErrorKind::environment, format("LibTorch cannot be loaded ({})", reason),
          "It must be the version that tally was built with; an archive of tally finds it by "
          "LibTorch_ROOT."};
}

// The library is never closed, because LibTorch's libraries cannot be unloaded. Its symbols are
// global, because compiled packages look for LibTorch's among those of the program.
const TorchFunctions& open_library() {
  void* const library = dlopen(kTorchLibrary, RTLD_LAZY | RTLD_GLOBAL);
  void* const getter = library == nullptr ? nullptr : dlsym(library, kTorchFunctions);
  if (getter == nullptr) {
    const char* reason = dlerror();
    throw cannot_load(reason == nullptr ? "no reason was given" : reason);
  }
  const auto& functions = *reinterpret_cast<TorchFunctionsGetter>(getter)();
  if (functions.revision == build_info().revision) return functions;
  throw cannot_load(format("the {} that was found is of revision {}, the program is of {}",
                           kTorchLibrary, functions.revision, build_info().revision));
}

const TorchFunctions& functions() {
  static const TorchFunctions& opened = open_library();
  return opened;
}

}  // namespace

std::vector<std::string> describe_model(const NamedBytes& file,
                                        std::span<const NamedBytes> beside) {
  return functions().describe_model(file, beside);
}

StateDictMatch fit_weights(const weights::Checkpoint& checkpoint,
                           const std::optional<ExpectedWeights>& expected,
                           std::string_view prefix) {
  return functions().fit_weights(checkpoint, expected, prefix);
}

std::future<void> load_ahead(const device::Device& device) {
  if (device.kind == DeviceKind::cpu) return {};
  try {
    return functions().load_ahead(device);
  } catch (...) {  // as any other failure to load, it is thrown when its owner asks
    std::promise<void> failed;
    failed.set_exception(std::current_exception());
    return failed.get_future();
  }
}

std::unique_ptr<LoadedModel> load_model(const NamedBytes& model, const PredictorOptions& options) {
  return functions().load_model(model, options);
}

TorchGpuVersions torch_gpu_versions() { return functions().torch_gpu_versions(); }

std::string torch_version() { return functions().torch_version(); }

}  // namespace tally::model

namespace tally::weights {

std::unique_ptr<ZipStream> open_zip_stream(const ByteSource& bytes) {
  return model::functions().open_zip_stream(bytes);
}

}  // namespace tally::weights
