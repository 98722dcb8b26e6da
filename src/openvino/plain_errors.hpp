// SPDX-License-Identifier: Apache-2.0
// Exceptions of OpenVINO's own classes stay in the library of the engine.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tally::openvino {

// OpenVINO puts before its message where it was thrown, line by line.
std::string meaningful_line(std::string_view text);

// Throws std::runtime_error for whatever the action throws.
template <class Action>
auto with_plain_errors(Action action) {
  try {
    return action();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw std::runtime_error(meaningful_line(error.what()));
  }
}

}  // namespace tally::openvino
