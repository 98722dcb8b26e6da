# SPDX-License-Identifier: Apache-2.0
"""What the tests of detection share: a prepared case and how its figures are compared."""

import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from coco_reference import METRICS, Case, Figures, random_case
from conftest import ROOT, Result
from detector_stand_in import save_detector

OPTIONS = ("--batch-size", 4)
TOLERANCE = 1e-12


def prepare(case: Case, folder: Path, *options: object) -> Path:
    data = folder / "set.h5"
    words = ["--input", case.write(folder / "in.json"), "--output", data, *(options or ["--no-images"])]
    command = [sys.executable, ROOT / "data_tools" / "prepare_coco.py", *words]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return data


def mapped(results: list[dict], corners: np.ndarray, data: Path) -> list[dict]:
    """The results with boxes in pixels of the annotated images. corners: of each, in pixels of the model's input."""
    with h5py.File(data) as file:
        placements = dict(zip(file["images/id"][...].tolist(), file["images/placement"][...], strict=True))
    made = []
    for result, box in zip(results, corners.astype(float), strict=True):
        scale_x, scale_y, offset_x, offset_y = placements[result["image_id"]]
        x1, y1, x2, y2 = box * (scale_x, scale_y, scale_x, scale_y) + (offset_x, offset_y) * 2
        made.append(result | {"bbox": [x1, y1, x2 - x1, y2 - y1]})
    return made


def check_figures(result: Result, expected: Figures) -> float:
    """The largest difference."""
    rows = [(result.value(name), expected.metrics[name]) for name in METRICS]
    for row, of_class in zip(result.report["per_class"], expected.classes, strict=True):
        rows += [(row[name], value) for name, value in of_class.items()]
    for found, value in rows:
        assert (found is None) == (value is None), rows
        assert found is None or abs(found - value) <= TOLERANCE, rows
    return max(abs(found - value) for found, value in rows if value is not None)


def state_of(result: Result) -> tuple:
    return result.report["digests"]["state"], result.report["metrics"], result.report["per_class"]


# Fixtures of the files that import them.
@pytest.fixture(scope="module")
def case() -> Case:
    return random_case(4, num_images=9)


@pytest.fixture(scope="module")
def data(case: Case, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare(case, tmp_path_factory.mktemp("detection"))


@pytest.fixture(scope="module")
def model(case: Case, data: Path) -> Path:
    return save_detector(data, case.found, data.parent / "m.pt")
