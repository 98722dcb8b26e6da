// SPDX-License-Identifier: Apache-2.0
// The few calls in a pickle that are understood; none is ever made, their result is built instead.
#pragma once

#include "pickle/pickle_value.hpp"

namespace tally::weights {

// REDUCE and NEWOBJ: OrderedDict, dict, set, torch.Size, ZeroStageEnum and torch's rebuilding of
// tensors; any other callable gives an object that only has its name. Throws FormatError for a
// malformed tensor.
PickleValue& build_call(PickleArena& arena, const PickleValue& callable,
                        const PickleValue& arguments);

// BUILD: the classes of torch.distributed.checkpoint keep their state as their one item; all else
// loses it, a state_dict its _metadata.
void build_state(PickleArena& arena, PickleValue& object, PickleValue& state);

// Of a tuple or list of sizes or strides, of as many dimensions as any tensor has. Throws
// FormatError for anything else.
std::vector<std::int64_t> integers(const PickleValue& value);

// BINPERSID: ('storage', torch.FloatStorage, key, location, number of elements, …).
PickleValue& build_storage(PickleArena& arena, const PickleValue& id);

}  // namespace tally::weights
