# SPDX-License-Identifier: Apache-2.0
"""What packages for GPUs need, as far as it shows without one."""

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import export_model
import pytest
import torch
from tally_export import gpu, package
from torch import nn

# The largest tensor of a sample is [64, 254, 254].
NET = nn.Sequential(nn.Conv2d(3, 64, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
IMAGES = (torch.zeros(2, 3, 256, 256),)


def switches() -> tuple[bool, bool]:
    return torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32


@pytest.fixture(autouse=True)
def keep_switches() -> Iterator[None]:
    before = switches()
    yield
    torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = before


def test_float32_is_float32_while_it_compiles() -> None:
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = True
    with pytest.raises(KeyError), gpu.gpu_compiler():
        assert switches() == (False, False)
        raise KeyError
    assert switches() == (True, True)


def test_the_folder_of_nvcc_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nvcc = tmp_path / "cuda-13" / "bin" / "nvcc"
    nvcc.parent.mkdir(parents=True)
    nvcc.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(nvcc.parent))
    monkeypatch.delenv("CUDA_HOME", raising=False)
    with gpu.gpu_compiler():
        assert os.environ["CUDA_HOME"] == str(tmp_path / "cuda-13")
    assert "CUDA_HOME" not in os.environ
    monkeypatch.setenv("CUDA_HOME", "/the/users")
    with gpu.gpu_compiler():
        assert os.environ["CUDA_HOME"] == "/the/users"


def test_the_largest_batch_has_values_for_32_bits() -> None:
    most = (2**31 - 1) // (64 * 254 * 254)
    assert gpu.largest_batch(NET, IMAGES) == most
    assert gpu.largest_batch(NET, (IMAGES[0][:1],)) == most


def test_a_limit_below_the_exporters_own_batches_is_none() -> None:
    assert gpu.largest_batch(nn.Upsample(scale_factor=64), (torch.zeros(1, 256, 16, 16),)) is None


def test_weights_are_no_part_of_a_batch() -> None:
    vocabulary = nn.Sequential(nn.Embedding(100_000, 64), nn.Flatten(), nn.Linear(2 * 64, 50_000))
    assert gpu.largest_batch(vocabulary, (torch.zeros(3, 2, dtype=torch.int64),)) == gpu.MOST_SAMPLES


def test_the_exporter_compiles_and_compares_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, bool, bool]] = []
    compiled = SimpleNamespace(facts={"largest_batch": 7}, training_mode=[])

    def compile_package(*_: Any) -> SimpleNamespace:
        seen.append(("compiled", *switches()))
        return compiled

    def verify_package(*_: Any) -> list[str]:
        seen.append(("compared", *switches()))
        return []

    cards: list[dict] = []
    for name, stand_in in {
        "check_device": lambda _: None,
        "laid_out": lambda checks, _: checks,
        "compile_package": compile_package,
        "verify_package": verify_package,
        "save_package": lambda _, path, card: (cards.append(card), path.touch()),
    }.items():
        monkeypatch.setattr(package, name, stand_in)
    monkeypatch.setattr(nn.Module, "to", lambda module, _: module)
    torch.backends.cudnn.allow_tf32 = True
    arguments = SimpleNamespace(device="cuda", swappable=False, batch_size=None, cpu_isa="default", max_autotune=False,
                                precision="fp32", output=tmp_path / "m.pt2", overwrite=False)  # fmt: skip
    form = SimpleNamespace(package_checks=lambda *_: SimpleNamespace(usual=[IMAGES]))
    subject = SimpleNamespace(module=NET, form=form, dtype=torch.float32, card=lambda _, facts: facts)
    export_model.write_package(arguments, subject, [])
    assert seen == [("compiled", False, False), ("compared", False, False)]
    assert cards[0]["package"] == {"precision": "fp32", "largest_batch": 7}
    assert switches()[0]
