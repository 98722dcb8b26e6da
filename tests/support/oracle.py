# SPDX-License-Identifier: Apache-2.0
"""A plain PyTorch evaluation of an exported model over a data set file: slow, short, and what tally must agree with."""

import json
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import torch

BATCH = 20  # small enough that activations stay near the caches


@dataclass(frozen=True)
class Result:
    """logits: float32 [N, C] as the model gave them; loss: mean cross entropy, natural logarithm."""

    logits: torch.Tensor
    labels: torch.Tensor
    loss: float

    @property
    def correct(self) -> int:
        return self.correct_in(1)

    def correct_in(self, k: int) -> int:
        """Samples for which fewer than k classes score above the true one."""
        true = self.logits.gather(1, self.labels[:, None])
        return int(((self.logits > true).sum(1) < k).sum())


def load_model(path: Path) -> tuple[torch.jit.ScriptModule, dict]:
    extra = {"tally.json": ""}
    module = torch.jit.load(str(path), map_location="cpu", _extra_files=extra)
    return module.eval(), json.loads(extra["tally.json"])


def normalised(pixels: np.ndarray, stored: str, recipe: dict) -> torch.Tensor:
    """uint8 [n, H, W, C] in the order `stored` -> float32 [n, C, H, W] as the recipe says, channels last in memory."""
    if {stored, recipe["channels"]} == {"RGB", "BGR"}:
        pixels = pixels[..., ::-1]
    scale, mean, std = (np.float32(recipe[name]) for name in ("scale", "mean", "std"))
    return torch.from_numpy((pixels * scale - mean) / std).permute(0, 3, 1, 2)


def evaluate(model_path: Path, data_path: Path) -> Result:
    """The recipe is the model card's, else the data set's. Outputs may be logits or log-probabilities."""
    module, card = load_model(model_path)
    logits = []
    with h5py.File(data_path) as file, torch.inference_mode():
        image = file["inputs/image"]
        own = {name: image.attrs[name] for name in ("scale", "mean", "std")}
        own["channels"] = image.attrs["channels"].decode()
        for first in range(0, len(image), BATCH):
            batch = normalised(image[first : first + BATCH], own["channels"], card.get("normalisation", own))
            logits.append(module(batch).float())
        labels = torch.from_numpy(file["targets/label"][...])
    scores = torch.cat(logits)
    loss = torch.nn.functional.cross_entropy(scores.double(), labels)
    return Result(scores, labels, loss.item())
