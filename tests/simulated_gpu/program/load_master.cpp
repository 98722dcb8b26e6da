// Twin of src/model/load_master.cpp: TorchScript alone, whose predictors are queued ones on the
// simulated GPU. There is no compiled package for it.
#include <ATen/Parallel.h>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/model/master.hpp>

#include "load_masters.hpp"
#include "queued_predictor.hpp"
#include "torch_errors.hpp"

namespace tally::model {

std::unique_ptr<Master> load_master(const NamedBytes& model, const PredictorOptions& options) {
  at::set_num_threads(options.threads);
  try {
    auto master = load_script_master(model, options);
    if (options.device.kind == DeviceKind::cpu) return master;
    return simulated_gpu::queued(std::move(master), options);
  } catch (...) {
    throw torch_error(format("model '{}' cannot be loaded", model.name),
                      "See 'tally inspect' of it.");
  }
}

std::unique_ptr<Predictor> load_predictor(const NamedBytes& model,
                                          const PredictorOptions& options) {
  return load_master(model, options)->make_last_predictor();
}

}  // namespace tally::model
