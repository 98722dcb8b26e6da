// SPDX-License-Identifier: Apache-2.0
#include "kernels/pool_without_indices.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/max_pool2d.h>
#include <torch/csrc/jit/ir/constants.h>

#include <tally/libtorch/isa_cap.hpp>
#include <tally/libtorch/torch_device_and_stream.hpp>

#include "kernels/max_pool.hpp"
#include "kernels/operator_registration.hpp"
#include "passes/jit_graph.hpp"

namespace tally::graph_optimizer {
namespace {

using torch::jit::Graph;
using torch::jit::Node;

// One number for both dimensions, or one for each.
bool is_pair(at::IntArrayRef list) { return list.size() == 1 || list.size() == 2; }

bool is_sound(const Window& window, std::int64_t length) {
  constexpr std::int64_t kLargest = 1 << 20;  // of what is sensible; sums of such do not overflow
  return window.size > 0 && window.size < kLargest && window.stride > 0 &&
         window.stride < kLargest && window.padding >= 0 && window.padding <= window.size / 2 &&
         length + 2 * window.padding >= window.size;
}

// LibTorch's, except for `dilation`.
struct Settings {
  at::IntArrayRef sizes, strides, paddings;
  bool ceil_mode;

  // Along dimension `i` of two; without strides they are the window's sizes.
  Window window(std::size_t i) const {
    const auto of = [i](at::IntArrayRef list) { return list[list.size() == 1 ? 0 : i]; };
    return {of(sizes), of(strides.empty() ? sizes : strides), of(paddings)};
  }
};

// What pool_row() takes; all else, and what is wrong with it, is LibTorch's to say.
std::optional<PooledImage> as_pooled_image(const at::Tensor& x, const Settings& settings) {
  const auto type = x.scalar_type();
  const bool is_known = type == at::kFloat || type == at::kBFloat16 || type == at::kHalf;
  if (!is_known || x.dim() != 4 || x.layout() != at::kStrided || x.numel() == 0) return {};
  // LibTorch's result is channels-last where this says so.
  const bool is_last = x.suggest_memory_format() == at::MemoryFormat::ChannelsLast;
  if (!is_last || !x.is_contiguous(at::MemoryFormat::ChannelsLast)) return {};
  if (!is_pair(settings.sizes) || !is_pair(settings.paddings)) return {};
  if (!settings.strides.empty() && !is_pair(settings.strides)) return {};
  const auto down = settings.window(0);
  const auto across = settings.window(1);
  if (!is_sound(down, x.size(2)) || !is_sound(across, x.size(3))) return {};
  return PooledImage{x.size(2), x.size(3), x.size(1), down, across, settings.ceil_mode};
}

// As bits.
std::int32_t infinity_of(c10::ScalarType type) {
  if (type == at::kFloat) return 0x7f800000;
  return type == at::kHalf ? 0x7c00 : 0x7f80;
}

template <class Bits>
void pool_images(const at::Tensor& x, const PooledImage& image, const at::Tensor& pooled) {
  const auto infinity = static_cast<Bits>(infinity_of(x.scalar_type()));
  const auto* const from = static_cast<const Bits*>(x.const_data_ptr());
  auto* const to = static_cast<Bits*>(pooled.mutable_data_ptr());
  const auto rows = image.pooled_height();
  const auto image_size = image.height * image.width * image.channels;
  const auto row_size = image.pooled_width() * image.channels;
  for (std::int64_t i = 0; i < x.size(0) * rows; ++i) {
    pool_row(from + i / rows * image_size, image, infinity, i % rows, to + i * row_size);
  }
}

void pool_on_gpu(const at::Tensor& x, const PooledImage& image, const at::Tensor& pooled) {
  launch_max_pool({.images = x.const_data_ptr(),
                   .pooled = pooled.mutable_data_ptr(),
                   .num_images = x.size(0),
                   .shape = image,
                   .word_bytes = static_cast<int>(x.element_size()),
                   .infinity = infinity_of(x.scalar_type())},
                  libtorch::current_stream(x.device()));
}

// Where the kernels take them.
bool suits(const at::Tensor& x, const PooledImage& image) {
  if (x.is_cpu()) return has_own_pools();
  const auto address = reinterpret_cast<std::uintptr_t>(x.const_data_ptr());
  return x.is_cuda() && image.channels * x.element_size() % kPoolBytes == 0 &&
         address % kPoolBytes == 0;
}

at::Tensor pool(const at::Tensor& x, at::IntArrayRef kernel_size, at::IntArrayRef stride,
                at::IntArrayRef padding, at::IntArrayRef dilation, bool ceil_mode) {
  const auto image = as_pooled_image(x, {kernel_size, stride, padding, ceil_mode});
  const bool is_dense =
      is_pair(dilation) && std::ranges::all_of(dilation, [](auto step) { return step == 1; });
  if (!image || !is_dense || !suits(x, *image)) {
    return at::max_pool2d(x, kernel_size, stride, padding, dilation, ceil_mode);
  }
  auto pooled = at::empty({x.size(0), x.size(1), image->pooled_height(), image->pooled_width()},
                          x.options(), at::MemoryFormat::ChannelsLast);
  if (x.is_cuda()) {
    pool_on_gpu(x, *image, pooled);
  } else if (x.scalar_type() == at::kFloat) {
    pool_images<std::int32_t>(x, *image, pooled);
  } else {
    pool_images<std::int16_t>(x, *image, pooled);
  }
  return pooled;
}

// The first call makes the operator known, until the process ends.
void register_pool_once() {
  static const auto library = [] {
    auto made = own_operators();
    made.def(
        "max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
        "int[2] dilation=1, bool ceil_mode=False) -> Tensor",
        &pool);
    return made;
  }();
}

}  // namespace

bool has_own_pools() {
  return libtorch::allowed_vectors() != libtorch::VectorSet::none && at::get_num_threads() == 1;
}

int pool_without_indices(Graph& graph) {
  std::vector<Node*> pools;
  for (Node* node : all_nodes(graph.block())) {
    if (is_a(node, {"aten::max_pool2d"})) pools.push_back(node);
  }
  // Without pools nothing is registered, so that such a process has LibTorch's operators alone.
  if (!pools.empty()) register_pool_once();
  for (Node* pool : pools) {
    const torch::jit::WithInsertPoint here(pool);
    replace(graph, graph.create(c10::Symbol::fromQualString(kMaxPool), pool->inputs()), pool);
  }
  return static_cast<int>(pools.size());
}

}  // namespace tally::graph_optimizer
