// Replaces a model's weights by those of another file.
#pragma once

#include <string_view>

#include <tally/model/predictor.hpp>

#include "script_module.hpp"

namespace tally::model {

// Before ScriptModule::freeze(). All or nothing: Error(model) names what is missing, unexpected or
// of another shape or type, the first ten of each, and then the model is as it was. Conversions
// between floating-point types and prefixes taken off are noted.
void swap_weights(ScriptModule& module, const NamedBytes& file, std::string_view key);

}  // namespace tally::model
