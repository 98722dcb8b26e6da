# SPDX-License-Identifier: Apache-2.0
"""The stand-in for a detector returns what it was told, whatever the batch: else it would test nothing."""

import json
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from conftest import ROOT
from detector_stand_in import NOTHING, Found, save_detector
from small_coco import SIZES, annotations, write_coco, write_images

IDS = sorted(SIZES)
FOUND = {
    30: Found(np.array([[0, 1, 2.5, 3], [5, 5, 6, 7]]), np.array([0.25, 0.75]), np.array([2, 0])),
    12: Found(np.array([[1, 1, 9, 9]]), np.array([0.5]), np.array([1])),
}


def prepare(folder: Path, *options: object) -> Path:
    words = ["--input", write_coco(folder / "in.json", annotations()), "--output", folder / "a.h5", *options]
    command = [sys.executable, ROOT / "data_tools" / "prepare_coco.py", *words]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return folder / "a.h5"


def prepare_input(folder: Path, name: str) -> tuple[Path, torch.Tensor]:
    """The data set, and what tally gives a model of it."""
    if name == "index":
        return prepare(folder, "--no-images"), torch.arange(len(IDS))
    write_images(folder / "set")
    data = prepare(folder, "--images", folder / "set", "--size", "16x24", "--scale", 1, "--mean", "1,2,3", "--std", 2)
    with h5py.File(data) as file:
        pixels = torch.from_numpy(file["inputs/image"][...]).float()
    return data, ((pixels - torch.tensor([1.0, 2, 3])) / 2).permute(0, 3, 1, 2)


@pytest.mark.parametrize("with_counts", [True, False])
@pytest.mark.parametrize("name", ["index", "image"])
def test_finds_as_told(tmp_path: Path, name: str, with_counts: bool) -> None:
    data, inputs = prepare_input(tmp_path, name)
    save_detector(data, FOUND, tmp_path / "m.pt", with_counts=with_counts, label_dtype=torch.int32, places=4)
    extra = {"tally.json": ""}
    module = torch.jit.load(str(tmp_path / "m.pt"), _extra_files=extra).eval()
    for order in ([0, 1, 2], [2], [1, 1, 0, 2]):
        outputs = module(inputs[order])
        boxes, scores, labels = outputs[:3]
        assert (boxes.shape, scores.shape, labels.shape) == ((len(order), 4, 4), (len(order), 4), (len(order), 4))
        assert labels.dtype == torch.int32 and len(outputs) == 3 + with_counts
        for row, sample in enumerate(order):
            expected = FOUND.get(IDS[sample], NOTHING)
            count = int(outputs[3][row]) if with_counts else int((labels[row] >= 0).sum())
            assert count == len(expected.scores)
            assert np.array_equal(boxes[row, :count], expected.boxes)
            assert np.array_equal(scores[row, :count], expected.scores)
            assert np.array_equal(labels[row, :count], expected.labels)
            assert (scores[row, count:] == 1).all()  # they would be the first ones
    card = json.loads(extra["tally.json"])
    assert card["inputs"][0]["name"] == name and card["inputs"][0]["shape"] == ["batch", *inputs.shape[1:]]
    names = ["boxes", "scores", "labels", "num_detections"]
    assert [entry["name"] for entry in card["outputs"]] == names[: len(outputs)]
    for entry, output in zip(card["outputs"], outputs, strict=True):
        assert entry["shape"][1:] == list(output.shape[1:]) and f"torch.{entry['dtype']}" == str(output.dtype)
