#include "narrow_convolution.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

namespace tally::model {
namespace {

// Beyond it nothing is sensible, and below it no size overflows.
constexpr std::int64_t kLargest = 1 << 20;

bool is_float_of(const at::Tensor& tensor, std::int64_t num_dimensions) {
  return tensor.scalar_type() == at::kFloat && tensor.device().is_cpu() &&
         tensor.dim() == num_dimensions;
}

bool is_pair(at::IntArrayRef list, std::int64_t least) {
  return (list.size() == 1 || list.size() == 2) &&
         std::ranges::all_of(list, [&](auto n) { return n >= least && n < kLargest; });
}

// Graphs name the operator by themselves: what would be read out of bounds is refused here.
void check(const at::Tensor& weight, const NarrowShape& shape) {
  TORCH_CHECK(has_narrow_convolution(), "this processor has no AVX2");
  const std::vector<std::int64_t> size{shape.num_groups(), shape.window_height, shape.window_width,
                                       shape.channels, kNarrowGroup};
  TORCH_CHECK(weight.sizes() == size, "an image of ", shape.channels, " channels for weights of ",
              weight.sizes(), " and ", shape.out_channels, " biases");
  TORCH_CHECK(shape.height + 2 * shape.padding_down >= shape.window_height &&
                  shape.width + 2 * shape.padding_across >= shape.window_width &&
                  shape.out_height() > 0 && shape.out_width() > 0,
              "an image of ", shape.height, " x ", shape.width, " is smaller than the window");
}

at::Tensor convolve(const at::Tensor& given_input, const at::Tensor& given_weight,
                    const at::Tensor& given_bias, at::IntArrayRef stride, at::IntArrayRef padding,
                    bool has_relu, bool pool) {
  TORCH_CHECK(is_pair(stride, 1) && is_pair(padding, 0), "strides of ", stride, ", paddings of ",
              padding);
  const auto input = given_input.contiguous(at::MemoryFormat::ChannelsLast);
  const auto weight = given_weight.contiguous();
  const auto bias = given_bias.contiguous();
  TORCH_CHECK(is_float_of(input, 4) && is_float_of(weight, 5) && is_float_of(bias, 1),
              "float32 images, weights and biases on the CPU are taken, not those of ",
              input.sizes(), ", ", weight.sizes(), ", ", bias.sizes());
  const auto shape = narrow_shape(input.sizes(), bias.numel(),
                                  {weight.sizes().slice(1, 2), stride, padding, pool});
  check(weight, shape);
  auto out =
      at::empty({shape.num_images, shape.out_channels, shape.out_height(), shape.out_width()},
                input.options(), at::MemoryFormat::ChannelsLast);
  convolve_narrow(input.const_data_ptr<float>(),
                  {weight.const_data_ptr<float>(), bias.const_data_ptr<float>(), has_relu}, shape,
                  out.mutable_data_ptr<float>());
  return out;
}

}  // namespace

void register_narrow() {
  static const auto library = [] {
    torch::Library made(torch::Library::FRAGMENT, "tally", std::nullopt, __FILE__, __LINE__);
    made.def(
        "narrow_convolution(Tensor input, Tensor weight, Tensor bias, int[2] stride, "
        "int[2] padding, bool relu, bool pool) -> Tensor",
        &convolve);
    return made;
  }();
}

at::Tensor narrow_weight(const at::Tensor& weight) {
  const auto num_groups = (weight.size(0) + kNarrowGroup - 1) / kNarrowGroup;
  const auto missing = num_groups * kNarrowGroup - weight.size(0);
  return at::constant_pad_nd(weight.contiguous(), {0, 0, 0, 0, 0, 0, 0, missing})
      .view({num_groups, kNarrowGroup, weight.size(1), weight.size(2), weight.size(3)})
      .permute({0, 3, 4, 2, 1})
      .contiguous();
}

NarrowShape narrow_shape(at::IntArrayRef input_size, std::int64_t out_channels,
                         const NarrowSettings& settings) {
  const auto& [window, stride, padding, pool] = settings;
  return {input_size.at(0), input_size.at(2), input_size.at(3), input_size.at(1),
          out_channels,     window.front(),   window.back(),    stride.front(),
          stride.back(),    padding.front(),  padding.back(),   pool ? 2 : 1};
}

}  // namespace tally::model
