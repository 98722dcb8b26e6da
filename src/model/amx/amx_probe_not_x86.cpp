// SPDX-License-Identifier: Apache-2.0
// Processors that have no AMX.

#include "amx/amx_probe.hpp"

namespace tally::model {

bool announces_amx() { return false; }

bool multiply_tiles() { return false; }

}  // namespace tally::model
