"""The networks of the benchmarks: those of the end-to-end tests, and torchvision's with seeded weights."""

import sys
from pathlib import Path

import torch
import torchvision

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import models  # noqa: E402


def make(name: str) -> torch.nn.Module:
    return models.ALL[name]() if name in models.ALL else _seeded(name)


def normalisation(name: str) -> dict | None:
    card = getattr(make(name), "tally_card", None)
    return card["normalisation"] if card else None


def _seeded(name: str) -> torch.nn.Module:
    torch.manual_seed(models.SEED)
    return torchvision.models.get_model(name, weights=None)


def resnet18() -> torch.nn.Module:
    return _seeded("resnet18")


def resnet50() -> torch.nn.Module:
    return _seeded("resnet50")
