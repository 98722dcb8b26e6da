# SPDX-License-Identifier: Apache-2.0
"""Networks that decide by their data, or that do in evaluation mode what belongs to training."""

import torch
import torch.nn.functional as F
from torch import nn


class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 3)

    def forward(self, values):
        if values.sum() > 0:
            return self.linear(values)
        return -3 * self.linear(values)


class Unscriptable(Branch):
    def forward(self, *values):
        if values[0].sum() > 0:
            return self.linear(*values)
        return -3 * self.linear(*values)


class Rare(Branch):
    def forward(self, values):
        if values.max() > 1e6:
            return -self.linear(values)
        return self.linear(values)


class OfShapes(Branch):
    """Nothing here is decided by the data."""

    def __init__(self):
        super().__init__()
        self.register_buffer("limit", torch.tensor(3.0))

    def forward(self, values):
        assert (values < 1e9).all()
        torch._assert(bool((values > -1e9).all()), "too small")
        if values.abs().max() > 1e9:
            raise ValueError("too large")
        if values.shape[1] != 8 or self.limit > 4 or torch.zeros_like(values).sum() > 0:
            return values
        return self.linear(values)


class Dropout(Branch):
    def forward(self, values):
        return self.linear(F.dropout(values))


class Noise(Branch):
    def forward(self, values):
        return self.linear(values + torch.randn_like(values))


class Attention(Branch):
    def forward(self, values):
        return self.linear(F.scaled_dot_product_attention(*3 * [values[:, None]], dropout_p=0.3)[:, 0])


class BatchStatistics(Branch):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(8, track_running_stats=False)

    def forward(self, values):
        return self.linear(self.norm(values.repeat(3, 1))[: values.shape[0]])  # more than one value, in a batch of one


class Sound(nn.Module):
    """What reads like training and is none: statistics of weights and of single samples, dropout that is off."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.instance = nn.InstanceNorm2d(4)
        self.tracked = nn.InstanceNorm2d(4, track_running_stats=True)
        self.batch = nn.BatchNorm2d(4)
        self.lstm = nn.LSTM(6, 5, num_layers=2, dropout=0.5, batch_first=True)
        self.linear = nn.Linear(5, 3)
        self.dropout = nn.Dropout(0.5)

    def forward(self, image):
        weight = F.batch_norm(self.conv.weight.reshape(1, 4, -1), None, None, training=True)
        maps = F.conv2d(image, weight.reshape_as(self.conv.weight))
        maps = self.batch(self.tracked(self.instance(maps)))
        hidden, _ = self.lstm(F.dropout(maps.mean(1), 0.0, training=True))
        return self.linear(self.dropout(hidden[:, -1]))


def branch(): return Branch()
def unscriptable(): return Unscriptable()
def rare(): return Rare()
def of_shapes(): return OfShapes()
def dropout(): return Dropout()
def noise(): return Noise()
def attention(): return Attention()
def batch_statistics(): return BatchStatistics()
