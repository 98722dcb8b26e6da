# SPDX-License-Identifier: Apache-2.0
"""A small net with one of everything that a state_dict may hold, at sizes that no number of ranks divides."""

import torch
from torch import nn

NUM_CLASSES = 7
_WIDTH = 13


class VariedNet(nn.Module):
    """Input float32 [batch, 3, height, width]; returns float32 logits [batch, 7] whatever the weights' type is.

    All that its state_dict holds changes the logits, except `empty` and what batch norm counts.
    """

    def __init__(self, seed: int, *, tied: bool = True) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.conv = nn.Conv2d(3, _WIDTH, 3, padding=1)
        self.norm = nn.BatchNorm2d(_WIDTH)
        self.tied_in = nn.Linear(_WIDTH, _WIDTH, bias=False)
        self.tied_out = nn.Linear(_WIDTH, _WIDTH)
        if tied:
            self.tied_out.weight = self.tied_in.weight
        self.narrow = nn.Linear(_WIDTH, 3)  # of four ranks one has none of its rows
        self.wide = nn.Linear(3, _WIDTH)
        self.turned = nn.Parameter(torch.randn(NUM_CLASSES, _WIDTH).t())  # not contiguous
        self.empty = nn.Parameter(torch.zeros(0, 5))
        self.gain = nn.Parameter(torch.rand(()) + 1.0)
        self.register_buffer("shift", torch.rand(()))
        self.register_buffer("order", torch.randperm(_WIDTH))
        with torch.no_grad():
            for values in (self.norm.weight, self.norm.bias, self.norm.running_mean):
                values.normal_()
            self.norm.running_var.uniform_(0.5, 2.0)
            self.norm.num_batches_tracked.fill_(seed)
        self.conv.to(memory_format=torch.channels_last)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        hidden = self.norm(self.conv(image.to(self.conv.weight.dtype))).relu().mean(dim=(2, 3))
        hidden = self.tied_out(self.tied_in(hidden[:, self.order]).relu()) + self.shift
        hidden = hidden + self.wide(self.narrow(hidden))
        return (self.gain * (hidden @ self.turned) + self.empty.sum()).float()


def make_buffer(net: VariedNet, name: str) -> None:
    """Of a parameter, under its name."""
    value = getattr(net, name).detach()
    delattr(net, name)
    net.register_buffer(name, value)


def make_trainable(net: VariedNet) -> VariedNet:
    """As wrappers that shard parameters ask for: none without a dimension, all contiguous."""
    make_buffer(net, "gain")
    for parameter in net.parameters():
        parameter.data = parameter.data.contiguous()
    return net


def untied_net(seed: int = 1) -> VariedNet:
    """For export_model.py: no package's weights can be replaced if some are tied."""
    return VariedNet(seed, tied=False)
