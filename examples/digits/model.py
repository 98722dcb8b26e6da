# SPDX-License-Identifier: Apache-2.0
"""The small ConvNet of the quickstart: handwritten digits of 8 x 8 pixels, ten classes."""

from torch import nn


def digits_convnet() -> nn.Module:
    """Input: float32 [batch, 1, 8, 8], normalised. Output: logits float32 [batch, 10]."""
    return nn.Sequential(
        nn.Conv2d(1, 16, kernel_size=3, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, kernel_size=3, padding=1, bias=False),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.25),
        nn.Linear(32 * 4 * 4, 10),
    )
