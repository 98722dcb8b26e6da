# SPDX-License-Identifier: Apache-2.0
"""Real networks with known results, as functions for `export_model.py --model tests/support/models.py:NAME`.

Architecture only, with seeded random weights; trained ones come from convert_weights.py. Each module carries the model
card of the recipe it was trained with.
"""

import torch
import torchvision
from torch import nn
from torch.nn import functional as F

SEED = 20260101


def _card(
    shape: list[int], kind: str, channels: str, scale: float, mean: list[float], std: list[float]
) -> dict:
    return {
        "normalisation": {"channels": channels, "scale": scale, "mean": mean, "std": std},
        "inputs": [{"name": "image", "shape": shape}],
        "outputs": [{"kind": kind}],
    }


class MnistConvNet(nn.Module):
    """Input [batch, 1, 28, 28]; returns log-probabilities [batch, 10]."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 20, kernel_size=5)
        self.conv2 = nn.Conv2d(20, 50, kernel_size=5)
        self.fc1 = nn.Linear(50 * 4 * 4, 500)
        self.fc2 = nn.Linear(500, 10)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        hidden = F.max_pool2d(self.conv1(image).relu(), 2)
        hidden = F.max_pool2d(self.conv2(hidden).relu(), 2)
        hidden = self.fc1(hidden.flatten(1)).relu()
        return self.fc2(hidden).log_softmax(dim=1)


class CifarBlock(nn.Module):
    """Two convolutions around a shortcut without weights: every second position, new channels zero on both sides."""

    def __init__(self, channels_in: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.stride = stride
        self.new_channels = (channels - channels_in) // 2

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        hidden = self.bn1(self.conv1(image)).relu()
        hidden = self.bn2(self.conv2(hidden))
        shortcut = image[:, :, :: self.stride, :: self.stride]
        shortcut = F.pad(shortcut, (0, 0, 0, 0, self.new_channels, self.new_channels))
        return (hidden + shortcut).relu()


class CifarResNet(nn.Module):
    """Input [batch, 3, 32, 32]; returns logits [batch, 10]."""

    def __init__(self, blocks_per_stage: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = self._stage(blocks_per_stage, 16, 16, 1)
        self.layer2 = self._stage(blocks_per_stage, 16, 32, 2)
        self.layer3 = self._stage(blocks_per_stage, 32, 64, 2)
        self.linear = nn.Linear(64, 10)

    @staticmethod
    def _stage(num_blocks: int, channels_in: int, channels: int, stride: int) -> nn.Sequential:
        rest = (CifarBlock(channels, channels, 1) for _ in range(num_blocks - 1))
        return nn.Sequential(CifarBlock(channels_in, channels, stride), *rest)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        hidden = self.bn1(self.conv1(image)).relu()
        hidden = self.layer3(self.layer2(self.layer1(hidden)))
        return self.linear(hidden.mean(dim=(2, 3)))


def mnist_convnet() -> nn.Module:
    torch.manual_seed(SEED)
    module = MnistConvNet()
    module.tally_card = _card([1, 28, 28], "log-probabilities", "L", 1 / 255, [0.1307], [0.3081])
    return module


def _cifar_resnet(blocks_per_stage: int) -> nn.Module:
    torch.manual_seed(SEED)
    module = CifarResNet(blocks_per_stage)
    module.tally_card = _card(
        [3, 32, 32], "logits", "RGB", 1 / 255, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    )
    return module


def cifar_resnet20() -> nn.Module:
    return _cifar_resnet(3)


def cifar_resnet32() -> nn.Module:
    return _cifar_resnet(5)


def squeezenet1_1() -> nn.Module:
    """The Caffe original: trained on BGR pixels less their mean, and its last convolution is padded by 1."""
    torch.manual_seed(SEED)
    module = torchvision.models.squeezenet1_1(weights=None)
    module.classifier[1].padding = (1, 1)
    module.tally_card = _card([3, 227, 227], "logits", "BGR", 1.0, [104.0, 117.0, 123.0], [1.0, 1.0, 1.0])
    return module


ALL = {make.__name__: make for make in (mnist_convnet, cifar_resnet20, cifar_resnet32, squeezenet1_1)}
