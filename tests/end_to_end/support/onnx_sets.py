# SPDX-License-Identifier: Apache-2.0
"""Small data sets for ONNX models, and what they must give."""

from pathlib import Path

import h5py
import numpy as np
import pytest
from conftest import Result
from tally_data.encoding import ImageEncoding
from tally_data.writer import DataSetWriter

CLASSES = 5
RAW = ImageEncoding("RGB", 1 / 255, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))


def labels(total: int) -> np.ndarray:
    return np.random.default_rng(9).integers(0, CLASSES, total)


def set_of_numbers(path: Path, values: np.ndarray, name: str = "x") -> Path:
    with DataSetWriter(path, task="multiclass", num_classes=CLASSES, num_samples=len(values)) as data:
        data.add_input(name, dtype=str(values.dtype), shape=values.shape[1:], data=values)
        data.add_target(data=labels(len(values)))
    return path


def set_of_images(path: Path, images: np.ndarray, classes: int = CLASSES) -> Path:
    total, height, width, _ = images.shape
    with DataSetWriter(path, task="multiclass", num_classes=classes, num_samples=total) as data:
        data.add_image(height=height, width=width, encoding=RAW, data=images)
        data.add_target(data=labels(total) % classes)
    return path


def saved(result: Result, column: str = "logits") -> np.ndarray:
    with h5py.File(result.folder / "predictions.h5") as file:
        return file[column][()]


def check_scores(result: Result, expected: np.ndarray, probabilities: bool = False) -> None:
    """Within float32's rounding of what ONNX Runtime gives; the accuracy is the same."""
    column = "probabilities" if probabilities else "logits"
    np.testing.assert_allclose(saved(result, column), expected, rtol=2e-5, atol=2e-5 * np.abs(expected).max())
    right = labels(len(expected))
    assert result.value("accuracy") == (expected.argmax(1) == right).mean()
    chances = expected if probabilities else np.exp(expected) / np.exp(expected).sum(1, keepdims=True)
    assert result.value("loss") == pytest.approx(-np.log(chances[np.arange(len(right)), right]).mean(), rel=1e-5)
