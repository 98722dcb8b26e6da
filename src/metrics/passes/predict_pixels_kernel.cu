// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <tally/device/launch.cuh>

#include "passes/deterministic_math.hpp"
#include "passes/predict_pixels_kernel.hpp"

namespace tally::metrics {
namespace {

constexpr int kThreads = 256;

// Each thread has a pixel of its own: neighbours read neighbouring scores of each class, so that
// reads are coalesced.
__global__ void predict_pixels(const PixelsToPredict pixels) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= pixels.num_images * pixels.num_pixels) return;
  const std::int64_t image = i / pixels.num_pixels;
  const float* score =
      pixels.scores + image * pixels.num_classes * pixels.num_pixels + i % pixels.num_pixels;
  float best = *score;
  std::int32_t prediction = 0;
  // For probabilities -Inf is bad, too, as predict_pixels() has it on CPUs for every kind of
  // output.
  bool has_bad_score = is_bad(best, OutputKind::probabilities);
  for (std::int32_t c = 1; c < pixels.num_classes; ++c) {
    score += pixels.num_pixels;
    has_bad_score |= is_bad(*score, OutputKind::probabilities);
    if (*score > best) {
      best = *score;
      prediction = c;
    }
  }
  pixels.predictions[i] = has_bad_score ? -1 : prediction;
}

}  // namespace

void launch_predict_pixels(const PixelsToPredict& pixels, void* stream) {
  const std::int64_t count = pixels.num_images * pixels.num_pixels;
  if (count == 0) return;
  const std::int64_t blocks = (count + kThreads - 1) / kThreads;
  device::launch("predict_pixels", predict_pixels, blocks, kThreads, stream, pixels);
}

}  // namespace tally::metrics
