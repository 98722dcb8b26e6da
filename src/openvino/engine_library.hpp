// SPDX-License-Identifier: Apache-2.0
// The library that holds the engine, and the one function in it. It is compiled with the program
// and not without it: classes and std::exception cross its border.
#pragma once

#include <tally/openvino/network.hpp>

namespace tally::openvino {

inline constexpr const char* kEngineLibrary = "libtally_openvino_engine.so";
inline constexpr const char* kEngineFunction = "tally_openvino_engine";
using EngineFunction = const Engine* (*)();  // an engine that is never destroyed

}  // namespace tally::openvino
