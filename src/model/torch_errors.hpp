// Torch's exceptions, which are pages long, as one sentence.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include <tally/base/error.hpp>

namespace tally::model {

// The first line that says something: without backtrace and TorchScript's call stack.
std::string first_meaningful_line(std::string_view text);

// Error(model) "<what> (<torch's reason>)"; Error(environment) when memory ran out; `Error`s pass
// unchanged. Call from a catch block only.
Error torch_error(std::string_view what, std::string_view next_step);

}  // namespace tally::model
