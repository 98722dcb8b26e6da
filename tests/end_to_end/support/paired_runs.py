# SPDX-License-Identifier: Apache-2.0
"""Two runs over the same samples that differ for many of them."""

import json

import small
import torch
from conftest import Evaluate, Result, Small


class Tilted(torch.nn.Module):
    """TinyNet with bent logits: right for other samples."""

    def __init__(self, tilt: float) -> None:
        super().__init__()
        self.net = small.TinyNet()
        self.tilt = tilt

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        logits = self.net(image)
        return logits + self.tilt * torch.sin(7.0 * logits)


def paired_runs(case: Small, evaluate: Evaluate) -> tuple[Result, Result]:
    tilted = small.save_model(Tilted(0.4), case.folder / "tilted.pt", json.dumps(small.card()))
    return evaluate(case.model, case.data), evaluate(tilted, case.data, ranks=2)
