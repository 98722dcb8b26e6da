"""What the tests of detection share: a prepared case and how its figures are compared."""

import subprocess
import sys
from pathlib import Path

from coco_reference import METRICS, Case, Figures
from conftest import ROOT, Result

OPTIONS = ("--batch-size", 4)
TOLERANCE = 1e-12


def prepare(case: Case, folder: Path, *options: object) -> Path:
    data = folder / "set.h5"
    words = ["--input", case.write(folder / "in.json"), "--output", data, *(options or ["--no-images"])]
    command = [sys.executable, ROOT / "data_tools" / "prepare_coco.py", *words]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return data


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
