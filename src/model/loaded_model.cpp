// SPDX-License-Identifier: Apache-2.0
#include <tally/model/loaded_model.hpp>

#include <ATen/Parallel.h>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/libtorch/torch_errors.hpp>
#include <tally/weights/file_kind.hpp>

#include "aoti/aoti_model.hpp"
#include "onnx/onnx_model.hpp"
#include "torchscript/torchscript_model.hpp"

namespace tally::model {

std::unique_ptr<LoadedModel> load_model(const NamedBytes& model, const PredictorOptions& options) {
  if (options.threads < 1) {
    throw Error(ErrorKind::usage, format("--threads is {}, expected 1 or more", options.threads));
  }
  // Always set: what torch finds by itself differs from launcher to launcher.
  at::set_num_threads(options.threads);
  try {
    // What the file holds decides, and not what it is called.
    const auto kind = weights::probe(model.bytes);
    if (kind == weights::FileKind::aoti_package) return load_package(model, options);
    if (kind == weights::FileKind::onnx || kind == weights::FileKind::openvino_xml) {
      return load_onnx(model, options);
    }
    return load_torchscript(model, options);
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
