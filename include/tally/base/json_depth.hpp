// SPDX-License-Identifier: Apache-2.0
// How deep JSON is nested, found before it is parsed.
#pragma once

#include <string_view>

namespace tally {

// Whether lists and objects of `json` are nested more than `levels` deep, up to the place where it
// is no JSON. Ask before it is parsed where it may be hostile: functions of JSON libraries that
// call themselves for each level, such as those that copy or write a value, overflow the stack.
// (A callback of nlohmann's parser finds it, too, but makes the parser look through a whole list
// for each object in it.)
bool is_nested_deeper(std::string_view json, int levels);

}  // namespace tally
