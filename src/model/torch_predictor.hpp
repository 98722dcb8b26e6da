// The Predictor of a TorchScript module.
#pragma once

#include <memory>
#include <optional>

#include <tally/model/predictor.hpp>

#include "script_module.hpp"

namespace tally::model {

// `module` is frozen; `card` is the one to go by.
std::unique_ptr<Predictor> make_script_predictor(std::unique_ptr<ScriptModule> module,
                                                 std::optional<ModelCard> card);

}  // namespace tally::model
