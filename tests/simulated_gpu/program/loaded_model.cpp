// SPDX-License-Identifier: Apache-2.0
// Twin of src/model/loaded_model.cpp: TorchScript alone, whose predictors are queued ones on the
// simulated GPU. There is no compiled package for it.
#include <ATen/Parallel.h>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/libtorch/torch_errors.hpp>
#include <tally/model/loaded_model.hpp>

#include "queued_predictor.hpp"
#include "torchscript/torchscript_model.hpp"

namespace tally::model {

std::unique_ptr<LoadedModel> load_model(const NamedBytes& model, const PredictorOptions& options) {
  at::set_num_threads(options.threads);
  try {
    auto loaded = load_torchscript(model, options);
    if (options.device.kind == DeviceKind::cpu) return loaded;
    return simulated_gpu::queued(std::move(loaded), options);
  } catch (...) {
    throw libtorch::torch_error(format("model '{}' cannot be loaded", model.name),
                                "See 'tally inspect' of it.");
  }
}

std::unique_ptr<Predictor> load_predictor(const NamedBytes& model,
                                          const PredictorOptions& options) {
  return load_model(model, options)->into_predictor();
}

}  // namespace tally::model
