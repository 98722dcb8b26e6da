// What an open object says of itself besides its elements.
#pragma once

#include <string_view>

#include <tally/hdf5/content.hpp>

#include "handles.hpp"

namespace tally::hdf5 {

ObjectKind kind_of(hid_t object);

// `object` is open; `path` is its name for messages. A dataset's storage is not looked at.
ObjectContent content_of(hid_t object, const Subject& subject, std::string_view path);

}  // namespace tally::hdf5
