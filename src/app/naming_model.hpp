// Rooms below know tensors, not files: their failures get the name of the model file here.
#pragma once

#include <functional>
#include <string>

namespace tally::app {

// Runs `step`; an Error(model) of it is thrown again, naming the model.
void naming_model(const std::string& model, const std::function<void()>& step);

}  // namespace tally::app
