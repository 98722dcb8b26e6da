// SPDX-License-Identifier: Apache-2.0
// The library with all code that needs LibTorch, which takes 0.4 s to load. The program opens it
// when one of these functions is called for the first time (open_torch_library.cpp); tests are
// linked to the functions themselves. Classes and exceptions cross its border, so that it must be
// of the same build as the program.
#pragma once

#include <string_view>

#include <tally/model/describe_model.hpp>
#include <tally/model/expected_weights.hpp>
#include <tally/model/load_torch_libraries.hpp>
#include <tally/model/loaded_model.hpp>
#include <tally/model/torch_info.hpp>
#include <tally/weights/zip_stream.hpp>

namespace tally::model {

struct TorchFunctions {
  std::string_view revision;  // as in BuildInfo
  decltype(&model::describe_model) describe_model;
  decltype(&model::fit_weights) fit_weights;
  decltype(&model::load_ahead) load_ahead;
  decltype(&model::load_model) load_model;
  decltype(&model::torch_gpu_versions) torch_gpu_versions;
  decltype(&model::torch_version) torch_version;
  decltype(&weights::open_zip_stream) open_zip_stream;
};

inline constexpr const char* kTorchFunctions = "tally_torch_functions";
using TorchFunctionsGetter = const TorchFunctions* (*)();

}  // namespace tally::model
