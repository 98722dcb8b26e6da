# SPDX-License-Identifier: Apache-2.0
"""Networks that the exporter must take, or refuse, as a user would write them."""

import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, num_classes=4):
        super().__init__()
        self.conv = nn.Conv2d(1, 3, 3)
        self.bn = nn.BatchNorm2d(3)
        self.fc = nn.Linear(3 * 6 * 6, num_classes)
    def forward(self, image):
        return self.fc(self.bn(self.conv(image)).relu().flatten(1))

def make(num_classes=4):
    return Net(num_classes)

def with_card():
    net = nn.Sequential(Net(), nn.LogSoftmax(1))
    net.tally_card = {"normalisation": {"channels": "L", "scale": 0.5, "mean": [1.0], "std": [2.0]},
                      "inputs": [{"name": "pixels", "shape": [1, 8, 8]}], "outputs": [{"kind": "log-probabilities"}]}
    return net

class Odd(Net):
    def forward(self, image):
        scores = self.fc(self.bn(self.conv(image)).relu().flatten(1))
        if image.size(0) == 1:
            return scores + 1
        return scores

class Pooled(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 5, 3)
    def forward(self, image):
        return self.conv(image).mean((2, 3))

def any_size_with_card(*shape):
    net = Pooled()
    net.tally_card = {"inputs": [{"name": "pixels", "shape": list(shape)}]}
    return net

def with_words():
    return any_size_with_card(3, "height", "width")

def with_batch():
    return any_size_with_card("batch", 3, 32, 32)

def with_wrong_words():
    return any_size_with_card(3, "high", "wide")

class Pair(Net):
    def forward(self, image):
        return super().forward(image), image

class Infinite(Net):
    def forward(self, image):
        return super().forward(image) / 0

class Fixed(Net):
    def forward(self, image):
        return super().forward(image.reshape(4, 1, 8, 8))

class Tied(Net):
    def __init__(self):
        super().__init__()
        self.second = nn.Conv2d(1, 3, 3)
        self.second.weight = self.conv.weight
        self.register_buffer("shift", torch.ones(3, 1, 1), persistent=False)
    def forward(self, image):
        return self.fc((self.second(image) + self.conv(image) + self.shift).flatten(1))

def tied(): return Tied()
def odd(): return Odd()
def frozen(): return torch.jit.freeze(torch.jit.script(Net().eval()))
def pooled(): return Pooled()
def pair(): return Pair()
def infinite(): return Infinite()
def fixed(): return Fixed()
def no_module(): return 3
def broken(): raise RuntimeError("my own fault")
def of_width(num_classes=4, width=3, name=""):
    return nn.Sequential(nn.Conv2d(1, width, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, num_classes))
def with_names(names=("a", "b", "b", "d")):
    net = of_width()
    net.tally_card = {"class_names": list(names) if isinstance(names, tuple) else names}
    return net
def cifar_fixed():
    return nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.AvgPool2d(8), nn.Flatten(), nn.Linear(4 * 4 * 4, 10))

def cifar_pooled():
    return nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 10))
