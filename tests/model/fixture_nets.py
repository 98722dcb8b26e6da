# SPDX-License-Identifier: Apache-2.0
"""Small networks of the kinds a user may bring."""

import torch
from torch import nn


class SmallNet(nn.Module):
    """Convolutions, batch norm and dropout: [N, 3, 12, 12] -> [N, 10]."""

    def __init__(self, num_classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2)
        self.drop = nn.Dropout(0.5)
        self.fc = nn.Linear(16 * 5 * 5, num_classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.bn(self.conv1(x)))
        x = torch.relu(self.conv2(x))
        return self.fc(self.drop(torch.flatten(x, 1)))


class Tied(nn.Module):
    """One weight under two names, and a buffer that is in no state_dict."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(432, 432, bias=False)
        self.second = nn.Linear(432, 432, bias=False)
        self.second.weight = self.first.weight
        self.register_buffer("order", torch.arange(432), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(torch.flatten(x, 1)))[:, self.order][:, :10]


class Slices(nn.Module):
    """Two parameters in one storage, as of an LSTM whose weights were flattened."""

    def __init__(self) -> None:
        super().__init__()
        flat = torch.randn(30)
        self.bias, self.weight = nn.Parameter(flat[:10]), nn.Parameter(flat[10:].view(4, 5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.bias.sum() * self.weight.sum()


class MatmulTree(nn.Module):
    """A sum of products, which TorchScript's optimizing executor makes one product after the first run."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(8, 54, 10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a, w = torch.flatten(x, 1).chunk(8, 1), self.w
        left = torch.mm(a[0], w[0]) + torch.mm(a[1], w[1]) + torch.mm(a[2], w[2]) + torch.mm(a[3], w[3])
        return left + torch.mm(a[4], w[4]) + torch.mm(a[5], w[5]) + torch.mm(a[6], w[6]) + torch.mm(a[7], w[7])


class DropsInFork(nn.Module):
    """Dropout that is always active, in a graph of its own."""

    def drop(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(x, 0.5, True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.jit.wait(torch.jit.fork(self.drop, x))


class Raises(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dim() == 4:
            raise ValueError("this model never works")
        return x


class OneTuple(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor]:
        return (torch.flatten(x, 1)[:, :10],)


class OneList(nn.Module):
    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [torch.flatten(x, 1)[:, :10]]


class TwoTuple(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x, x


class ReturnsDict(nn.Module):
    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"logits": x}


class WrongRows(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.flatten(x, 1)[1:, :10]


class Scalar(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sum()


class Classes(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.flatten(x, 1).argmax(1)


class MakesNan(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.flatten(x, 1)[:, :10] / 0.0 * 0.0


class Doubles(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.flatten(x, 1)[:, :10].double() / 3


class TwoInputs(nn.Module):
    def forward(self, ids: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return ids.to(torch.float32) * scale


class TracedOnCpu(nn.Module):
    """Convolutions of all dimensions, and tensors made on the device of its input: at each run, and once for all."""

    def __init__(self) -> None:
        super().__init__()
        self.positions = nn.Embedding(64, 4)
        self.plane = nn.Conv2d(3, 4, 3, padding=1)
        self.transposed = nn.ConvTranspose2d(4, 4, 3, stride=2)
        self.line = nn.Conv1d(4, 4, 3)
        self.same = nn.Conv1d(4, 4, 3, padding="same")
        self.space = nn.Conv3d(1, 2, 3)
        self.back_in_line = nn.ConvTranspose1d(4, 4, 3)
        self.back_in_space = nn.ConvTranspose3d(2, 1, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        places = torch.arange(x.shape[-1], device=x.device)
        plane = self.transposed(self.plane(x))
        line = self.back_in_line(self.same(self.line(plane.flatten(2))))
        space = self.back_in_space(self.space(plane.unsqueeze(1)), output_size=plane.shape[1:])
        line = line[:, torch.arange(4, device=x.device)]
        mask = torch.ones(4, device=x.device)
        return line.mean(2) * mask + space.mean((1, 2, 3, 4)).unsqueeze(1) + self.positions(places).mean(0)
