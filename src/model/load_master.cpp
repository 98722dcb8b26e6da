#include <ATen/Parallel.h>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/model/master.hpp>
#include <tally/weights/file_kind.hpp>

#include "load_masters.hpp"
#include "torch_errors.hpp"

namespace tally::model {

std::unique_ptr<Master> load_master(const NamedBytes& model, const PredictorOptions& options) {
  if (options.threads < 1) {
    throw Error(ErrorKind::usage, format("--threads is {}, expected 1 or more", options.threads));
  }
  // Always set: what torch finds by itself differs from launcher to launcher.
  at::set_num_threads(options.threads);
  try {
    if (weights::probe(model.bytes) == weights::FileKind::aoti_package) {
      return load_package_master(model, options);
    }
    return load_script_master(model, options);
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
