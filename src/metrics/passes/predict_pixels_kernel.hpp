// SPDX-License-Identifier: Apache-2.0
// The kernel that predicts pixels behind a plain function. Twins: predict_pixels_kernel.cu and, in
// a build without CUDA, predict_pixels_kernel_no_cuda.cpp, which nobody calls there.
#pragma once

#include <cstdint>

namespace tally::metrics {

// scores: [num_images, num_classes, num_pixels]; predictions: [num_images, num_pixels], of each
// pixel what predict_pixels() finds. Both are in the device's memory.
struct PixelsToPredict {
  const float* scores = nullptr;
  std::int64_t num_images = 0;
  std::int64_t num_classes = 0;
  std::int64_t num_pixels = 0;
  std::int32_t* predictions = nullptr;
};

// Enqueues on `stream`, a cudaStream_t.
void launch_predict_pixels(const PixelsToPredict& pixels, void* stream);

}  // namespace tally::metrics
