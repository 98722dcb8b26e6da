// SPDX-License-Identifier: Apache-2.0
// What networks have between their layers, as lines of TorchScript: images `x` of 16 channels, and
// weights by the names of onednn_graph_fixture.hpp.
#pragma once

#include <string>
#include <vector>

namespace tally::graph_optimizer {

// A network; its middle is what takes `x` to the next convolution.
inline constexpr const char* kNetwork = R"(
def forward(self, x):
    x = torch.conv2d(x, self.w1, self.b1)
    x = torch.conv2d(x, self.w2, self.b2)
    {}
    x = torch.conv2d(x, self.w3, self.b3)
    x = torch.conv2d(x, self.w4, self.b4)
    return torch.linear(torch.mean(x, [2, 3]), self.w, self.b)
)";

// As LeViT has it.
inline constexpr const char* kNormalisedLinear =
    "y = torch.linear(x.permute([0, 2, 3, 1]), self.w1[:, :, 0, 0], None)\n"
    "    y = torch.batch_norm(y.flatten(0, 2), self.ones, self.b2, self.b1, self.b3, False, 0.1, "
    "1e-5, True).reshape_as(y)\n"
    "    x = torch.relu(y).permute([0, 3, 1, 2])";

inline const std::vector<std::string> kBetween{
    "x = torch.relu(x)",
    "x = torch.relu_(x)",
    "x = torch.clamp(x, 0., 6.)",
    "x = torch.clamp(x, -1., 1.)",
    "x = torch.hardtanh(x, 0., 6.)",
    "x = torch.hardtanh_(x, -1., 1.)",
    "x = torch.relu6(x)",
    "x = torch.clamp(x, 0)",
    "x = torch.clamp(x, -1, 1)",
    "x = torch.clamp(x, 3., 1.)",
    "x = torch.clamp(x, torch.min(self.b1), torch.max(self.b1))",
    "x = torch.hardtanh(torch.conv2d(torch.relu6(x), self.w1, self.b1), 0., 6.) + x",
    "x = torch.hardswish(x)",
    "x = torch.silu(x)",
    "x = torch.elu(x)",
    "x = torch.gelu(x)",
    "x = torch.leaky_relu(x, 0.1)",
    "x = x * torch.sigmoid(torch.mean(x, [2, 3], True))",
    "x = x * torch.sigmoid(torch.adaptive_avg_pool2d(x, [1, 1]))",
    "x = x * torch.mean(x.permute([0, 2, 3, 1]), [1, 2]).reshape([-1, 16, 1, 1])",
    "x = x / (torch.linalg_vector_norm(x, 2, [2, 3], True) + 1.)",
    "x = torch.addcmul(self.b1.reshape([1, -1, 1, 1]), self.b2.reshape([1, -1, 1, 1]), x)",
    "x = torch.addcmul(x, x, torch.sigmoid(x)) + torch.addcmul(x, x, x, value=2)",
    "n = torch.linalg_vector_norm(x, 2, [2, 3], True)\n"
    "    x = x + torch.addcmul(self.b1.reshape([1, -1, 1, 1]), self.b2.reshape([1, -1, 1, 1]), "
    "x * (n / (torch.mean(n, 1, True) + 1.)))",
    "x = torch.tanh(x)",
    "x = torch.sigmoid(x)",
    "x = torch.exp(x * 0.1)",
    "x = torch.sqrt(torch.abs(x))",
    "x = torch.square(x) / 3.0",
    "x = torch.softmax(x, 1)",
    "x = torch.softmax(x, 2) + 1.0",
    "x = torch.tanh(torch.cos(x)) + 1.0",
    "x = torch.sigmoid(torch.erf(x)) * x",
    "x = torch.cat([torch.gelu(x[:, :8]) * x[:, 8:], x[:, :8]], 1)",
    "x = (x.reshape([x.size(0), 2, 8, 8, 8]) * "
    "torch.mean(x, [2, 3]).reshape([x.size(0), 2, 8, 1, 1])).reshape([x.size(0), 16, 8, 8])",
    "x = torch.max_pool2d(x, [2, 2])",
    "x = torch.avg_pool2d(x, [2, 2])",
    "x = torch.batch_norm(x, None, None, self.b1, self.ones, False, 0.1, 1e-5, True)",
    "x = torch.relu(torch.batch_norm(torch.square(x), self.ones, self.b2, self.b1, self.b3, "
    "False, 0.1, 1e-5, True))",
    kNormalisedLinear,
    "x = torch.layer_norm(x.permute([0, 2, 3, 1]), [16]).permute([0, 3, 1, 2])",
    "x = torch.layer_norm(x.permute([0, 2, 3, 1]), [16], self.ones, self.b4).permute([0, 3, 1, 2])",
    "t = x.permute([0, 2, 3, 1])\n"
    "    x = (t + torch.layer_norm(torch.cos(t), [16], self.ones, self.b4)).permute([0, 3, 1, 2])",
    "t = x.permute([0, 2, 3, 1])\n    u = torch.gelu(torch.layer_norm(torch.cos(t), [16], "
    "self.ones, "
    "self.b4))\n    x = (t + u).permute([0, 3, 1, 2])",
    "t = x.permute([0, 2, 3, 1])\n    u = torch.layer_norm(torch.cos(t), [16], self.ones, "
    "self.b4)\n"
    "    x = (t + self.b1 * u).permute([0, 3, 1, 2])",
    "x = torch.conv2d(x, self.w1, self.b1) + x",
    "x = torch.cat([x, x], 1)[:, 8:24]",
    "x = torch.cat([x, x], -3)[:, 8:24]",
    "x = torch.cat([x, x.contiguous()], -3)[:, 8:24]",
    "x = torch.gelu(x, approximate=\"tanh\")",
    "x = torch.elu(x, 0.5, 1.5, 2.0)",
    "x = torch.selu(x)",
    "x = torch.add(x, torch.conv2d(x, self.w1, self.b1), alpha=2)",
    "x = torch.add(x, 1.5, alpha=3)",
    "x = torch.sub(x, torch.conv2d(x, self.w1, self.b1), alpha=2)",
    "x = x + 0.3",
    "x = 0.7 * x / 0.3",
    "x = torch.div(x * 8., 3., rounding_mode=\"floor\")",
    "x = torch.div(x * 8., torch.abs(x) + 0.4, rounding_mode=\"trunc\")",
    "x = torch.softmax(x, 1, dtype=6).type_as(x)",
    "x = torch.log_softmax(x, 1)",
    "x = torch.log(torch.abs(x) + 1.)",
    "x = torch.round(x * 8.)",
    "x = torch.pow(x, 2)",
    "x = torch.max_pool2d_with_indices(x, [2, 2])[0]",
    "x = torch.avg_pool2d(x, [3, 3], [2, 2], [1, 1], True, False)",
    "x = torch.hardsigmoid(x) * x",
    "x = torch.max_pool2d(torch.clamp(x, 0., 6.), [2, 2])",
    "x = torch.clamp(torch.conv2d(torch.clamp(x, 0., 6.), -torch.abs(self.w1), self.b1), 0., 6.)",
    "v = x[:, :8]\n    torch.relu_(v)",
    "x = x * (torch.clamp((x[:, :1] * 0. + 3.7).to(4), 0, 2) + 1)",
    "z = torch.hardswish(torch.conv2d(x, self.w1, self.b1))\n"
    "    x = torch.conv2d(z, self.w2, self.b2) + z + torch.hardswish(x)",
    "x = torch.add(x, torch.conv2d(x, self.w1, self.b1), alpha=0.3)",
    "x = x / torch.sqrt(torch.mean(self.b1 * float(x.size(1)))) * 2.",
    "x = x / (float(x.size(1)) * 0.3)",
    "x = torch.mish(x)",
    "x = x * torch.bmm(x.flatten(2), x.flatten(2).transpose(1, 2)).mean([1, 2]).reshape([-1, 1, 1, "
    "1])",
    "x = x * torch.mm(x.flatten(1), x.flatten(1).t()[:, :1]).reshape([-1, 1, 1, 1]) / 64.",
    "x = torch.addmm(self.b1, x.permute([0, 2, 3, 1]).reshape([-1, 16]), self.w1[:, :, 0, "
    "0]).reshape([x.size(0), 8, 8, 16]).permute([0, 3, 1, 2])",
    "x = torch.addmm(self.b1, x.permute([0, 2, 3, 1]).reshape([-1, 16]), self.w1[:, :, 0, 0], "
    "beta=2, alpha=3).reshape([x.size(0), 8, 8, 16]).permute([0, 3, 1, 2])",
    "x = torch.prelu(x, self.b2)",
    "x = x[:, :, :int(torch.tensor(x.size(2)))]",  // as traced networks have it
    "x = x * torch.exp(float(x.size(1)) * -0.1)",
    "x = x / torch.sqrt(x.size(-3))",
    "x = x / torch.sqrt(x.shape[1])",
    "x = torch.repeat_interleave(x, torch.tensor([x.size(0) // 4]), 0)",
    "n, c, h, w = x.shape\n    x = x / torch.sqrt(c)",
    "x = torch.conv2d(x, self.w1[:, :, :1, :1].repeat([1, 1, 2, 2]), self.b1, [1, 1], \"same\")",
    "x = torch._convolution_mode(x, self.depthwise, self.b1, [1, 1], \"same\", [1, 1], 16)",
    "x = x * torch.tensor(x.size(2), device=x.device).type_as(x) / 8.",
    "x = torch.conv2d(x, self.depthwise, self.b1, [1, 1], \"same\", [1, 1], 16)",
    "x = torch.maximum(x, torch.conv2d(x, self.w1, self.b1))",
    "x = torch.conv2d(x, self.w1, self.b1, [2, 2])",
    "x = torch.conv2d(x, self.w1[:, :1], self.b1, [1, 1], [0, 0], [1, 1], 16)",
};

}  // namespace tally::graph_optimizer
