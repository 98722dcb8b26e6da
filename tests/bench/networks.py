"""The networks of the benchmarks: those of the end-to-end tests, and torchvision's with seeded weights."""

import models
import torch
import torchvision


def make(name: str) -> torch.nn.Module:
    return models.ALL[name]() if name in models.ALL else _seeded(name)


def _seeded(name: str) -> torch.nn.Module:
    torch.manual_seed(models.SEED)
    return torchvision.models.get_model(name, weights=None)


def resnet18() -> torch.nn.Module:
    return _seeded("resnet18")


def resnet50() -> torch.nn.Module:
    return _seeded("resnet50")
