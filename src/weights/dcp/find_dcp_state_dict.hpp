// SPDX-License-Identifier: Apache-2.0
// Which of the tensors that torch.distributed.checkpoint saved are the weights.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dcp/dcp_metadata.hpp"

namespace tally::weights {

struct DcpStateDict {
  struct Tensor {
    std::string name;  // in the state_dict
    const SavedEntry* entry = nullptr;
  };
  std::vector<Tensor> tensors;
  std::string location;               // "app.model"; empty: at the top
  std::vector<std::string> skipped;   // entries beside them that are no tensors
  std::vector<std::string> averaged;  // where EMA weights lie beside them
};

// Those of the state_dict at `key` (find_state_dict). With an empty key and no weights at a
// usual name or at the top: all by their whole names, but what lies under a name that begins with
// `optim`, and what lies at the top. Throws FormatError
// saying what there is instead. `entries` outlive it.
DcpStateDict find_dcp_state_dict(DcpMetadata& metadata, const std::vector<SavedEntry>& entries,
                                 std::string_view key);

}  // namespace tally::weights
