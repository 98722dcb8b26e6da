// SPDX-License-Identifier: Apache-2.0
// What --precision means for torch.
#pragma once

#include <optional>
#include <string>

#include <c10/core/ScalarType.h>

#include <tally/device/device.hpp>
#include <tally/model/precision.hpp>

namespace tally::model {

// The type of weights and inputs; none: the model's own.
std::optional<c10::ScalarType> floating_type(Precision precision);

// To what autocast casts; none: it is off.
std::optional<c10::ScalarType> autocast_type(Precision precision);

// How a GPU computes: the same bits in every run (unless `tune` lets cuDNN time its algorithms),
// and float32 products rounded to tf32 only where that was asked for (torch's own default allows it
// in convolutions). Error(environment) for tf32 on a CPU.
void set_gpu_arithmetic(Precision precision, bool tune, const device::Device& device);

// A line for a GPU with matrix units that float32 products do not use; empty for all else.
std::string note_on_float32(std::optional<c10::ScalarType> type, Precision precision,
                            const device::Device& device);

// One line for a type that the processor has no instructions for.
void warn_if_slow(std::optional<c10::ScalarType> type, const device::Device& device);

}  // namespace tally::model
