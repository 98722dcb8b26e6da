// The few calls in a pickle that are understood; none is ever made, their result is built instead.
#pragma once

#include "pickle_value.hpp"

namespace tally::weights {

// REDUCE and NEWOBJ: OrderedDict, dict, set, torch.Size and torch's rebuilding of tensors; any
// other callable gives an object that only has its name. Throws FormatError for a malformed tensor.
PickleValue& build_call(PickleArena& arena, const PickleValue& callable,
                        const PickleValue& arguments);

// BINPERSID: ('storage', torch.FloatStorage, key, location, number of elements, …).
PickleValue& build_storage(PickleArena& arena, const PickleValue& id);

}  // namespace tally::weights
