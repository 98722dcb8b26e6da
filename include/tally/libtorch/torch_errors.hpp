// SPDX-License-Identifier: Apache-2.0
// These functions make one sentence of LibTorch's exceptions, which are pages long.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include <tally/base/error.hpp>

namespace tally::libtorch {

// The first line that says something: without backtrace and TorchScript's call stack.
std::string first_meaningful_line(std::string_view text);

// Error(model) "<what> (<torch's reason>)"; Error(environment) when memory ran out, or for errors
// of CUDA or NVIDIA's driver; `Error`s pass unchanged. `if_of_types`: the next step where torch's
// reason is about types of tensors; empty: as for all others. Call from a catch block only.
Error torch_error(std::string_view what, std::string_view next_step,
                  std::string_view if_of_types = {});

}  // namespace tally::libtorch
