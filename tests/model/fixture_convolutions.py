# SPDX-License-Identifier: Apache-2.0
"""Networks whose convolutions may take over what follows them, or may not: [N, 3, 12, 12] -> [N, 10]."""

import torch
from torch import nn


class Residual(nn.Module):
    """Sums with the outcome of a convolution, as in residual networks: [N, 3, 12, 12] -> [N, 10]."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.second = nn.Conv2d(16, 16, 3, padding=1)
        self.shortcut = nn.Conv2d(16, 10, 1, stride=2)
        self.third = nn.Conv2d(16, 10, 3, stride=2, padding=1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu_(self.first(x))
        x = torch.relu_(self.second(x).add_(x))
        x = torch.relu(self.shortcut(x) + self.third(x))
        return x.mean((2, 3))


class SharedSums(nn.Module):
    """Sums whose other side is needed again, read by the convolution itself, given, or a weight."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 1)
        self.offset = nn.Parameter(torch.randn(16, 3, 12, 12))
        self.fc = nn.Linear(432, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        given = x + self.conv(x)
        itself = torch.relu(given)
        itself = self.conv(itself) + itself
        needed = torch.sigmoid(itself)
        summed = torch.relu(self.conv(itself) + needed)
        later = summed * needed[:, :, :1]
        weight = self.conv(later) + self.offset
        return self.fc(torch.flatten(weight + x, 1))


class BroadcastSum(nn.Module):
    """A sum of two shapes, but for a batch of one."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.conv, self.gate = nn.Conv2d(3, 3, 1), nn.Conv2d(3, 10, 3), nn.Conv2d(3, 10, 3)
        self.fc = nn.Linear(10, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.first(x))
        return self.fc(torch.relu(self.conv(hidden) + self.gate(x[:1])).mean((2, 3)))


class OverwrittenInput(nn.Module):
    """What the convolution read is written over before its ReLU; a branch decides on the rest."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 10, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        own = x * 2
        found = self.conv(own)
        own.zero_()
        found = torch.relu(found)
        if x.size(0) > 1:
            found = torch.relu(self.conv(x)) + found
        return found.mean((2, 3))


class Concatenated(nn.Module):
    """Two convolutions of one input side by side, of which one waits for the other."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.narrow, self.wide = nn.Conv2d(3, 6, 1), nn.Conv2d(6, 8, 1), nn.Conv2d(6, 4, 3, padding=1)
        self.fc = nn.Linear(12, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.first(x))
        sides = [torch.relu(self.narrow(x)), torch.relu(self.wide(x))]
        return self.fc(torch.cat(sides, 1).mean((2, 3)))


class NanInFirstLayer(nn.Module):
    """Diverged: each output is NaN, as long as no layer hides it."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 16, 3), nn.Conv2d(16, 10, 3)
        nn.init.constant_(self.first.weight, float("nan"))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.second(torch.relu(self.first(x)))).mean((2, 3))


class NanInFirstMaxima(NanInFirstLayer):
    """The same with few channels, of which maxima are taken."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 20, 3), nn.Conv2d(20, 50, 3, padding=1)
        self.fc = nn.Linear(50 * 4, 10)
        nn.init.constant_(self.first.weight, float("nan"))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = nn.functional.max_pool2d(torch.relu(self.first(x)), 2)
        x = nn.functional.max_pool2d(torch.relu(self.second(x)), 2)
        return self.fc(torch.flatten(x, 1))


class ReluLast(nn.Module):
    """Most scores are exactly zero, as a SqueezeNet's may be: ties."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 10, 10)
        nn.init.constant_(self.second.bias, -0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.second(torch.relu(self.first(x)))).mean((2, 3))


class Scaled(nn.Module):
    """A layer without bias after the ReLU: zeros stay zeros, ties stay ties."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 10, 12, bias=False)
        self.fc = nn.Linear(10, 10, bias=False)
        nn.init.eye_(self.fc.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(torch.flatten(torch.relu(self.conv(x)), 1))


class AddedTo(nn.Module):
    """The sum is read under the name of what it was written to."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 10, 12, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = torch.zeros(x.size(0), 10, 1, 1)
        kept.add_(torch.relu(self.conv(x)))
        return torch.flatten(kept, 1)


class SameUnderCast(nn.Module):
    """type_as returns its very input, which is needed again."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = torch.sigmoid(x)
        y = self.conv(x) + a.type_as(x)
        return torch.flatten(y * a, 1)[:, :10]


class CastUsedLater(nn.Module):
    """The same the other way round, with dropout, which returns its input, too."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 1)
        self.drop = nn.FeatureAlphaDropout()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = torch.sigmoid(x)
        later, dropped = a.type_as(x), self.drop(a)
        y = self.conv(x) + a
        return torch.flatten(y * later + dropped, 1)[:, :10]


class PooledSums(nn.Module):
    """Pools of what a sum is written over, before and after, and a sum written over one of them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1)
        self.third, self.fc = nn.Conv2d(16, 16, 1), nn.Linear(16 * 9 + 16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.first(x))
        before = nn.functional.max_pool2d(x, 2)
        x = torch.relu_(self.second(x).add_(x))
        after = nn.functional.max_pool2d(x, (2, 2), stride=(2, 2))
        x = self.third(after) + before
        x = torch.flatten(nn.functional.max_pool2d(x, 2), 1)
        return self.fc(torch.cat([x, after.mean((2, 3))], 1))


class Unbatched(nn.Module):
    """A convolution of one image without a batch."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 4, 12), nn.Linear(4, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = self.fc(torch.flatten(torch.relu(self.conv(x[0]))))
        return torch.flatten(x, 1)[:, :10] + first


class Wide(nn.Module):
    """Convolutions of 64 channels on images of 4x4: alone, before a ReLU, and in a sum."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.fc = nn.Conv2d(3, 64, 1, stride=3), nn.Linear(64, 10)
        self.alone, self.before, self.summed = (nn.Conv2d(64, 64, 3, padding=1) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.first(x))
        y = torch.relu(self.before(torch.sigmoid(self.alone(x))))
        return self.fc(torch.relu_(self.summed(y).add_(x)).mean((2, 3)))
