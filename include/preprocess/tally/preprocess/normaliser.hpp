// From stored pixels to what the model takes: (pixel * scale - mean) / std, channels in the model's
// order, as a float32 tensor of logical shape [batch, channels, height, width] that lies
// channels-last in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tally/base/tensor_view.hpp>
#include <tally/device/buffer.hpp>

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
  // Error(model) if that order cannot become wanted.channels (L against RGB), Error(dataset) if the
  // sizes of mean and std do not fit.
  Normaliser(Shape stored, const std::string& stored_channels, const Normalisation& wanted,
             const device::Device& device);

  // Rows of `pixels` to the buffer of this object; the view is valid until the next call.
  TensorView run(const TensorView& pixels);

 private:
  Shape stored_;
  std::vector<std::int64_t> source_channel_;  // stored channel for each channel of the model
  std::vector<float> table_;                  // [C, 256], each value rounded once from double
  device::HostBuffer output_;
};

}  // namespace tally::preprocess
