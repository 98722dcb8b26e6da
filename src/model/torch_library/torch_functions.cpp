// SPDX-License-Identifier: Apache-2.0
#include "torch_library/torch_functions.hpp"

#include <array>

#include "revision.hpp"

namespace tally::model {
namespace {

// Of this library. By the names kRevision and build_info() it would get those of the program.
constexpr auto kOwnRevision = std::to_array(kRevision);

}  // namespace

extern "C" const TorchFunctions* tally_torch_functions() {
  static const TorchFunctions functions{
      .revision = kOwnRevision.data(),
      .describe_model = describe_model,
      .fit_weights = fit_weights,
      .load_ahead = load_ahead,
      .load_model = load_model,
      .torch_gpu_versions = torch_gpu_versions,
      .torch_version = torch_version,
      .open_zip_stream = weights::open_zip_stream,
  };
  return &functions;
}

}  // namespace tally::model
