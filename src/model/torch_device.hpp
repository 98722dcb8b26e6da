// Where LibTorch puts the tensors of a device of ours.
#pragma once

#include <c10/core/Device.h>

#include <tally/device/device.hpp>

namespace tally::model {

c10::Device torch_device(const device::Device& device);

}  // namespace tally::model
