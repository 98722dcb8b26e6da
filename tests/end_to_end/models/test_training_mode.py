# SPDX-License-Identifier: Apache-2.0
"""Models that were traced in training mode, or that give other scores for the same batch."""

import json
from pathlib import Path

import h5py
import pytest
import small
import torch
from conftest import Small
from launch import Program, Run
from torch import nn


class Normalised(nn.Module):
    """A batch normalisation behind a convolution, into which an evaluator would fold it, and no dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.net = small.TinyNet()
        self.net.dropout.p = 0.0

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.net(image)


class Counting(nn.Module):
    """Gives other scores at each call."""

    def __init__(self) -> None:
        super().__init__()
        self.net = small.TinyNet()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        self.calls.add_(1.0)
        return self.net(image) * self.calls


def traced(module: nn.Module, path: Path) -> Path:
    example = torch.rand(4, 3, small.HEIGHT, small.WIDTH)
    torch.jit.trace(module, example, check_trace=False).save(str(path))
    return path


def evaluate(tally: Program, case: Small, model: Path, output: Path, *options: object, ranks: int | None = None) -> Run:
    return tally("evaluate", "--model", model, "--data", case.data, "--output", output, "--progress", "off",
                 "--batch-size", small.BATCH, *options, ranks=ranks)  # fmt: skip


@pytest.mark.parametrize("ranks", [None, 3], ids=["alone", "3ranks"])
def test_it_is_refused(ranks: int | None, tally: Program, small_case: Small, tmp_path: Path) -> None:
    model = traced(small.TinyNet().train(), tmp_path / "net.pt")
    run = evaluate(tally, small_case, model, tmp_path / "out", ranks=ranks)
    run.must_fail(4, "was traced in training mode", "aten::batch_norm", "small.py:", "aten::dropout",
                  "--allow-training-mode")  # fmt: skip
    assert not (tmp_path / "out").exists()


def test_the_plan_refuses_it_too(tally: Program, small_case: Small, tmp_path: Path) -> None:
    model = traced(small.TinyNet().train(), tmp_path / "net.pt")
    tally("check", "--model", model, "--data", small_case.data).must_fail(4, "was traced in training mode")


def test_allowed_it_is_evaluated_as_it_is(tally: Program, small_case: Small, tmp_path: Path) -> None:
    """With the statistics of each batch, the same on any number of ranks."""
    module = Normalised().train()
    model = traced(module, tmp_path / "net.pt")
    reports = []
    for ranks in (None, 3):
        output = tmp_path / f"out{ranks}"
        evaluate(tally, small_case, model, output, "--allow-training-mode", ranks=ranks).must_succeed()
        reports.append(json.loads((output / "report.json").read_text()))
    whole = len(small_case.samples.images) // small.BATCH * small.BATCH  # the last batch is filled up
    inputs = small.normalised(small_case.samples.images[:whole]).split(small.BATCH)
    with torch.no_grad():
        expected = torch.cat([module(batch).argmax(1) for batch in inputs])
    with h5py.File(tmp_path / "outNone" / "predictions.h5") as file:
        assert (file["prediction"][:whole] == expected.numpy()).all()
    for report in reports:
        assert report["digests"]["comparable"] is False
        assert any("was traced in training mode and is evaluated so" in note for note in report["notes"])
    assert reports[0]["digests"]["state"] == reports[1]["digests"]["state"]


def test_other_scores_for_the_same_batch(tally: Program, small_case: Small, tmp_path: Path) -> None:
    model = traced(Counting().eval(), tmp_path / "counting.pt")
    evaluate(tally, small_case, model, tmp_path / "out").must_fail(4, "gives other scores for the same batch")
    run = evaluate(tally, small_case, model, tmp_path / "out", "--allow-training-mode").must_succeed()
    assert "so that the digests are not comparable" in run.stderr
    assert json.loads((tmp_path / "out" / "report.json").read_text())["digests"]["comparable"] is False
