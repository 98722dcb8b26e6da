// Processors that have no AMX.
#include "amx/amx_instructions.hpp"

namespace tally::model {

bool announces_amx() { return false; }

bool multiply_tiles() { return false; }

}  // namespace tally::model
