# SPDX-License-Identifier: Apache-2.0
"""What PyTorch reaches: a batch that stays on the GPU, whole loops, and cuDNN's convolutions with sums and ReLU in them."""

import time
from collections.abc import Callable
from pathlib import Path

import h5py
import torch
import torchvision
from ceilings import median_s
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

SCALE, MEAN, STD = 1 / 255, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
Forward = Callable[[torch.Tensor], torch.Tensor]


def network(name: str, dtype: torch.dtype) -> nn.Module:
    torch.manual_seed(0)
    model = torchvision.models.get_model(name, weights=None).eval()
    return model.to("cuda", dtype, memory_format=torch.channels_last)


def resident_batch(batch: int, dtype: torch.dtype) -> torch.Tensor:
    images = torch.randn(batch, 3, 224, 224, device="cuda", dtype=dtype)
    return images.to(memory_format=torch.channels_last)


@torch.inference_mode()
def resident_rate(forward: Forward, batch: int, dtype: torch.dtype) -> float:
    """Images per second on a batch that stays on the GPU."""
    images = resident_batch(batch, dtype)
    for _ in range(5):
        forward(images)
    passes = max(10, 8192 // batch)
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(passes):
        forward(images)
    torch.cuda.synchronize()
    return passes * batch / (time.perf_counter() - began)


@torch.inference_mode()
def kernel_times(forward: Forward, batch: int, dtype: torch.dtype, most: int = 12) -> dict[str, float]:
    """Milliseconds of a pass by kernel, the longest first."""
    images = resident_batch(batch, dtype)
    forward(images)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        forward(images)
        torch.cuda.synchronize()
    times = {event.key[:90]: event.device_time_total / 1e3 for event in profile.key_averages()}
    return dict(sorted(times.items(), key=lambda item: -item[1])[:most])


def frozen(name: str, dtype: torch.dtype) -> nn.Module:
    """As tally runs TorchScript: traced, frozen, run without the optimizing executor."""
    model = network(name, dtype)
    traced = torch.jit.freeze(torch.jit.trace(model, resident_batch(2, dtype)))
    torch._C._set_graph_executor_optimize(False)
    return traced


class FusedResNet50:
    """Convolutions with bias, sum and ReLU as one call of cuDNN, but for those without a ReLU."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.model = network("resnet50", torch.float32)
        self.dtype = dtype
        self.folded: dict[nn.Module, nn.Conv2d] = {}
        for block in self._blocks():
            for i in (1, 2, 3):
                self._fold(getattr(block, f"conv{i}"), getattr(block, f"bn{i}"))
            if block.downsample:
                self._fold(*block.downsample)
        self._fold(self.model.conv1, self.model.bn1)
        self.fc = self.model.fc.to(dtype)

    def _blocks(self) -> list[nn.Module]:
        layers = (self.model.layer1, self.model.layer2, self.model.layer3, self.model.layer4)
        return [block for layer in layers for block in layer]

    def _fold(self, convolution: nn.Conv2d, norm: nn.BatchNorm2d) -> None:
        self.folded[convolution] = fuse_conv_bn_eval(convolution, norm).to(self.dtype, memory_format=torch.channels_last)

    def _relu(self, x: torch.Tensor, convolution: nn.Conv2d) -> torch.Tensor:
        c = self.folded[convolution]
        return torch.ops.aten.cudnn_convolution_relu(x, c.weight, c.bias, c.stride, c.padding, c.dilation, c.groups)

    def _block(self, x: torch.Tensor, block: nn.Module) -> torch.Tensor:
        other = self.folded[block.downsample[0]](x) if block.downsample else x
        y = self._relu(self._relu(x, block.conv1), block.conv2)
        c = self.folded[block.conv3]
        return torch.ops.aten.cudnn_convolution_add_relu(
            y, c.weight, other, 1.0, c.bias, c.stride, c.padding, c.dilation, c.groups
        )

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        x = self.model.maxpool(self._relu(x, self.model.conv1))
        for block in self._blocks():
            x = self._block(x, block)
        return self.fc(torch.flatten(self.model.avgpool(x), 1))


@torch.inference_mode()
def first_convolution_ms(channels: int, side: int = 224, window: int = 7, stride: int = 2, padding: int = 3) -> float:
    """The first convolution of a ResNet over 256 images in bf16, or one that gives the same of other shapes."""
    images = torch.randn(256, channels, side, side, device="cuda", dtype=torch.bfloat16)
    images = images.to(memory_format=torch.channels_last)
    weight = torch.randn(64, channels, window, window, device="cuda", dtype=torch.bfloat16)
    weight = weight.to(memory_format=torch.channels_last)
    bias = torch.randn(64, device="cuda", dtype=torch.bfloat16)
    shape = ([stride] * 2, [padding] * 2, [1, 1], 1)
    return 1e3 * median_s(lambda: torch.ops.aten.cudnn_convolution_relu(images, weight, bias, *shape))


@torch.inference_mode()
def fused_keeps_nan(dtype: torch.dtype) -> dict[str, bool]:
    """Whether NaN and infinity among the inputs of a fused convolution are NaN after its ReLU, as without fusion."""
    weight = torch.ones(64, 64, 3, 3, device="cuda", dtype=dtype).to(memory_format=torch.channels_last)
    weight[1::2] = -1
    bias = torch.zeros(64, device="cuda", dtype=dtype)
    kept = {}
    for name, bad in (("nan", [float("nan"), 0.0]), ("inf_minus_inf", [float("inf"), float("-inf")])):
        x = torch.ones(2, 64, 8, 8, device="cuda", dtype=dtype).to(memory_format=torch.channels_last)
        x[0, :2, 3, 3] = torch.tensor(bad, device="cuda", dtype=dtype)
        plain = torch.relu(torch.nn.functional.conv2d(x, weight, bias, padding=1))
        shape = ([1, 1], [1, 1], [1, 1], 1)
        with_relu = torch.ops.aten.cudnn_convolution_relu(x, weight, bias, *shape)
        with_sum = torch.ops.aten.cudnn_convolution_add_relu(x, weight, torch.ones_like(plain), 1.0, bias, *shape)
        for form, found in (("relu", with_relu), ("add_relu", with_sum)):
            kept[f"{name}_{form}"] = bool(torch.equal(plain.isnan(), found.isnan())) and bool(plain.isnan().any())
    return kept


@torch.inference_mode()
def loop_rate(forward: Forward, dtype: torch.dtype, data: Path, batch: int) -> float:
    """A plain loop done with care: pinned batches, channels-last, counters on the GPU; it reads in its own thread."""
    mean = torch.tensor(MEAN, device="cuda").view(1, 3, 1, 1)
    std = torch.tensor(STD, device="cuda").view(1, 3, 1, 1)
    correct = torch.zeros(2, dtype=torch.int64, device="cuda")
    began, counted = 0.0, 0
    with h5py.File(data) as file:
        image, label = file["/inputs/image"], file["/targets/label"]
        for first in range(0, len(image), batch):
            pixels = torch.from_numpy(image[first : first + batch]).pin_memory().to("cuda", non_blocking=True)
            target = torch.from_numpy(label[first : first + batch]).to("cuda", non_blocking=True)
            normal = ((pixels.permute(0, 3, 1, 2).float() * SCALE - mean) / std).to(dtype)
            top = forward(normal.contiguous(memory_format=torch.channels_last)).topk(5).indices
            hits = top == target[:, None]
            correct += torch.stack([hits[:, 0].sum(), hits.sum()])
            if first == 0:
                torch.cuda.synchronize()
                began = time.perf_counter()
            else:
                counted += len(target)
        correct.tolist()
    return counted / (time.perf_counter() - began)
