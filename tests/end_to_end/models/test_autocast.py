# SPDX-License-Identifier: Apache-2.0
"""--precision amp-bf16 and amp-fp16: the bits of torch's own autocast on the CPU."""

from pathlib import Path

import numpy as np
import pytest
import small
import torch
from conftest import Evaluate, Result, Small
from launch import Program
from prepared import Prepared
from torch import nn

DTYPES = {"amp-bf16": torch.bfloat16, "amp-fp16": torch.float16}


class Mixed(nn.Module):
    """Operators of each list of autocast: convolutions and products, softmax and normalisations, sums of both kinds."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16)
        self.tokens = nn.Linear(16, 32)
        self.layer_norm = nn.LayerNorm(32)
        self.attention = nn.Linear(32, 96)
        self.head = nn.Linear(32, small.NUM_CLASSES)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        hidden = nn.functional.gelu(self.norm(self.first(image)))
        tokens = self.tokens(hidden.flatten(2).transpose(1, 2))
        query, key, value = self.attention(self.layer_norm(tokens)).chunk(3, dim=-1)
        weights = (query @ key.transpose(1, 2) / 6).softmax(-1)
        return self.head((tokens + weights @ value).mean(1))


def of_torch(module: nn.Module, case: Small, precision: str, batch: int = 64) -> np.ndarray:
    """float32 [n, classes] of batches of this size, the last one filled up with zeros as tally's."""
    images = small.normalised(case.samples.images)
    rows = torch.cat([images, torch.zeros(-len(images) % batch, *images.shape[1:])])
    with torch.inference_mode(), torch.autocast("cpu", DTYPES[precision]):
        logits = torch.cat([module(part).float() for part in rows.split(batch)])
    return logits[: len(images)].numpy()


def logits_of(result: Result) -> np.ndarray:
    return small.columns(result.folder / "predictions.h5")["logits"]


@pytest.mark.parametrize("precision", DTYPES)
@pytest.mark.parametrize("ranks", [1, 3])
def test_logits_are_those_of_torch(
    precision: str, ranks: int, small_case: Small, evaluate: Evaluate, tmp_path: Path
) -> None:
    module = Mixed().eval()
    model = tmp_path / "mixed.pt"
    torch.jit.trace(module, torch.zeros(2, 3, 8, 8)).save(str(model))
    options = ("--save", "labels,logits", "--batch-size", 16)
    found = evaluate(model, small_case.data, *options, "--precision", precision, ranks=ranks)
    torch.set_num_threads(1)
    np.testing.assert_array_equal(logits_of(found), of_torch(module, small_case, precision, 16))
    own = evaluate(model, small_case.data, *options)
    assert np.abs(logits_of(found) - logits_of(own)).max() > 1e-4
    assert found.report["digests"]["class"] != own.report["digests"]["class"]
    assert f"autocast to {precision.removeprefix('amp-')}" in found.report["environment"]["model_form"]


def test_weights_stay_as_they_are_given(small_case: Small, evaluate: Evaluate, tmp_path: Path) -> None:
    other = small.TinyNet(seed=9).eval()
    torch.save(other.state_dict(), tmp_path / "other.pth")
    options = ("--precision", "amp-bf16", "--save", "labels,logits", "--weights", tmp_path / "other.pth")
    found = evaluate(small_case.model, small_case.data, *options)
    torch.set_num_threads(1)
    np.testing.assert_array_equal(logits_of(found), of_torch(other, small_case, "amp-bf16"))


def test_packages_are_refused(data_dir: Path, cache_dir: Path, tally: Program, tmp_path: Path) -> None:
    prepared = Prepared(data_dir, cache_dir)
    package, data = prepared.package("cifar_resnet20"), prepared.data_of("cifar_resnet20")
    options = ("--model", package, "--data", data, "--output", tmp_path / "run", "--precision", "amp-bf16")
    tally("evaluate", *options).must_fail(4, "is a compiled package", "--format torchscript")
