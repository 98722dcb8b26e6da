// Is this machine the one a package was compiled for?
#pragma once

#include <set>
#include <string>

#include <tally/device/device.hpp>

#include "aoti/package.hpp"

namespace tally::model {

// What /proc/cpuinfo says that this processor can do: "avx2", "fma", …; read once.
const std::set<std::string>& cpu_features();

// Error(model) if the package is for another kind of device, machine or processor, naming what to
// do. The GPU itself is looked at when the library is loaded.
void check_target(const Package& package, const ModelCard& card, const device::Device& device);

}  // namespace tally::model
