#include <ATen/Parallel.h>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/model/predictor.hpp>

#include "byte_text.hpp"
#include "script_module.hpp"
#include "script_predictor.hpp"
#include "weight_swap.hpp"

namespace tally::model {

std::unique_ptr<Predictor> load_predictor(const NamedBytes& model,
                                          const PredictorOptions& options) {
  if (options.threads < 1) {
    throw Error(ErrorKind::usage, format("--threads is {}, expected 1 or more", options.threads));
  }
  // Always set: what torch finds by itself differs from launcher to launcher.
  at::set_num_threads(options.threads);
  auto module = std::make_unique<ScriptModule>(model);
  auto card = module->card();
  if (!card && options.card) {
    card = parse_card(as_text(options.card->bytes), format("model card '{}'", options.card->name));
  }
  // Weights first: frozen ones are constants, some of them repacked.
  if (options.weights) swap_weights(*module, *options.weights, options.weights_key);
  module->freeze();
  return make_script_predictor(std::move(module), std::move(card));
}

}  // namespace tally::model
