# SPDX-License-Identifier: Apache-2.0
"""Caches of torchvision and timm that hold weights which tests make, under the names that the libraries look for."""

import hashlib
import socket
from pathlib import Path
from typing import NoReturn

import pytest
import torch
import torchvision
from safetensors.torch import save_file
from timm.models import get_pretrained_cfg

_REVISION = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> NoReturn:
        raise AssertionError("somebody asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of both: torch/hub/checkpoints and hub."""
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path


def torch_file(caches: Path, name: str) -> Path:
    folder = caches / "torch" / "hub" / "checkpoints"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def publish_torchvision(
    caches: Path, monkeypatch: pytest.MonkeyPatch, weights: torchvision.models.WeightsEnum, state: dict[str, torch.Tensor]
) -> Path:
    """As if `weights` had been published with these values: the file's name holds the beginning of their sha256."""
    made = torch_file(caches, "made.pth")
    torch.save(state, made)
    digest = hashlib.sha256(made.read_bytes()).hexdigest()
    path = made.rename(torch_file(caches, f"published-{digest[:8]}.pth"))
    monkeypatch.setattr(weights.value, "url", f"https://download.pytorch.org/models/{path.name}")
    return path


def publish_timm(caches: Path, name: str, state: dict[str, torch.Tensor], file: str = "model.safetensors") -> Path:
    """In the cache of Hugging Face's hub; returns the link that has the published name."""
    repository = caches / "hub" / f"models--{get_pretrained_cfg(name).hf_hub_id.replace('/', '--')}"
    for folder in ("blobs", "refs", f"snapshots/{_REVISION}"):
        (repository / folder).mkdir(parents=True)
    made = repository / "blobs" / "made"
    if file.endswith(".safetensors"):
        save_file(state, made)
    else:
        torch.save(state, made)
    stored = made.rename(made.with_name(hashlib.sha256(made.read_bytes()).hexdigest()))
    (repository / "refs" / "main").write_text(_REVISION)
    link = repository / "snapshots" / _REVISION / file
    link.symlink_to(stored)
    return link
