// SPDX-License-Identifier: Apache-2.0
// Makes what the model takes of stored pixels: (pixel * scale - mean) / std, channels in the
// model's order, as a tensor of logical shape [batch, channels, height, width] that lies
// channels-last in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tally/base/tensor_view.hpp>
#include <tally/device/buffer.hpp>
#include <tally/device/stream.hpp>

namespace tally {
class ThreadTeam;
}

namespace tally::preprocess {

struct Normalisation {
  double scale = 1.0;
  std::vector<double> mean;  // [C] in the order of `channels`
  std::vector<double> std;   // [C]
  std::string channels;      // "RGB", "BGR" or "L"
  bool operator==(const Normalisation&) const = default;
};

class Normaliser {
 public:
  // stored: [batch, height, width, channels] uint8 whose channels stand in `stored_channels` order.
  // output: float32, bfloat16 or float16. Error(model) if the order of channels cannot become
  // wanted.channels (L against RGB), Error(dataset) if the sizes of mean and std do not fit or a
  // value is none of the output's type. `threads` share the work on a CPU.
  Normaliser(Shape stored, const std::string& stored_channels, const Normalisation& wanted,
             DType output, const device::Device& device, int threads = 1);
  ~Normaliser();

  // Enqueues: rows of `pixels`, which lie on the stream's device, to this object's buffer there.
  // The view is valid until the next call.
  TensorView run(const TensorView& pixels, const device::Stream& stream);

 private:
  Shape stored_;
  std::vector<int> source_channel_;  // stored channel for each channel of the model
  DType output_type_;
  device::HostBuffer table_;  // [C, 256] of the output's type
  device::DeviceBuffer table_on_device_;
  device::DeviceBuffer output_;
  std::unique_ptr<ThreadTeam> team_;  // on a CPU
};

}  // namespace tally::preprocess
