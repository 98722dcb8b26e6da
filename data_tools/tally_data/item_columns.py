# SPDX-License-Identifier: Apache-2.0
"""What each column of a data set stores of a sample: found from the first sample, asked of all others."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import schema
from .column import Column, as_rows
from .decode import DecodeRule, prepare
from .encoding import ImageEncoding
from .errors import DataError
from .item_values import as_image, mask_array, to_array
from .writer import DataSetWriter


@dataclass(frozen=True)
class ImageColumn:
    """An input that is an image: uint8 [H, W, C]."""

    name: str
    shape: tuple[int, ...]
    rule: DecodeRule
    encoding: ImageEncoding
    dtype: str = "uint8"

    @classmethod
    def like(cls, name: str, value: Any, rule: DecodeRule, encoding: ImageEncoding, what: str) -> "ImageColumn":
        pixels = _prepared(value, rule, what)
        return cls(name, pixels.shape, rule, encoding)

    def encode(self, value: Any, what: str) -> np.ndarray:
        pixels = _prepared(value, self.rule, what)
        if pixels.shape != self.shape:
            found, expected = (f"{height}x{width}" for height, width, _ in (pixels.shape, self.shape))
            raise DataError(
                f"{what} is {found} (height x width), the first item's is {expected}; "
                "all must have one size: give --resize and --crop"
            )
        return pixels

    def declare(self, out: DataSetWriter) -> Column:
        height, width, _ = self.shape
        return out.add_image(
            self.name, height=height, width=width, encoding=self.encoding, geometry=self.rule.geometry
        )


def _prepared(value: Any, rule: DecodeRule, what: str) -> np.ndarray:
    """uint8 [H, W, C]"""
    image = as_image(value, what)
    if image.mode.startswith(("I", "F")):  # also I;16: Pillow would clip the values
        raise DataError(f"{what} has more than 8 bits per channel (mode {image.mode}): convert it in the dataset")
    mode = "L" if rule.channels == "L" else "RGB"
    try:
        converted = image.convert(mode)
    except (ValueError, OSError) as error:  # Pillow converts only some modes
        raise DataError(f"{what} is an image of the mode {image.mode} and cannot be made {mode}: {error}") from error
    return prepare(converted, rule)


@dataclass(frozen=True)
class TensorColumn:
    """An input that the model is given as it is; rounds: whether float64 becomes float32."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    rounds: bool

    @classmethod
    def like(cls, name: str, value: Any, rounds: bool, what: str) -> "TensorColumn":
        array = to_array(value, what, rounds)
        return cls(name, array.dtype.name, array.shape, rounds)

    def encode(self, value: Any, what: str) -> np.ndarray:
        return _same_form(to_array(value, what, self.rounds), self.dtype, self.shape, what)

    def declare(self, out: DataSetWriter) -> Column:
        return out.add_input(self.name, dtype=self.dtype, shape=self.shape)


@dataclass(frozen=True)
class TargetColumn:
    """What the model should say, by task; numbers: of classes whose names may stand for them."""

    task: str
    dtype: str
    shape: tuple[int, ...]
    rounds: bool
    numbers: dict[str, int] = field(default_factory=dict)
    name: str = "the target"

    @classmethod
    def like(cls, value: Any, task: str | None, names: Sequence[str] | None, rounds: bool, what: str) -> "TargetColumn":
        """Of a task that is not given it is guessed."""
        counts = Counter(names or ())
        numbers = {name: number for number, name in enumerate(names or ()) if counts[name] == 1}
        array = _target_array(value, task, numbers, rounds, what)
        task = task or _guess_task(array, what)
        array = _as_task_has_it(array, task, what)
        return cls(task, array.dtype.name, array.shape, rounds, numbers)

    @property
    def num_outputs(self) -> int | None:
        """Of labels or outputs; None where classes are counted, which a sample's shape does not say."""
        if schema.find_task(self.task).label_dtype == "int64":
            return None
        return self.shape[0] if len(self.shape) == 1 else 1

    def encode(self, value: Any, what: str) -> np.ndarray:
        array = _target_array(value, self.task, self.numbers, self.rounds, what)
        return _same_form(_as_task_has_it(array, self.task, what), self.dtype, self.shape, what)

    def declare(self, out: DataSetWriter) -> Column:
        if len(self.shape) != 2:
            return out.add_target()
        height, width = self.shape
        if self.task == "segmentation":
            return out.add_mask(height=height, width=width, dtype=self.dtype)
        return out.add_map(height=height, width=width)


def _same_form(array: np.ndarray, dtype: str, shape: tuple[int, ...], what: str) -> np.ndarray:
    if array.shape != shape:
        raise DataError(
            f"{what} has the shape {list(array.shape)}, the first item's has {list(shape)}; "
            "all must have one shape: pad or crop in the dataset"
        )
    return as_rows(array, np.dtype(dtype), what).reshape(shape)


def _target_array(value: Any, task: str | None, numbers: dict[str, int], rounds: bool, what: str) -> np.ndarray:
    if isinstance(value, str):
        if value not in numbers:
            known = "which is no class name" if numbers else "expected a number, or a name of --class-names"
            raise DataError(f"{what} is the text '{value}', {known}")
        return np.array(numbers[value], np.int64)
    is_image = isinstance(value, bytes) or hasattr(value, "getbands")
    if task == "segmentation" or (task is None and is_image):
        return mask_array(value, what)
    return to_array(value, what, rounds)


def _guess_task(array: np.ndarray, what: str) -> str:
    """Of the first sample's target."""
    if array.dtype.kind == "f" and array.ndim < 3:
        return "regression"
    if array.ndim == 0:
        return "multiclass"
    if array.ndim == 1 and len(array) > 1 and np.isin(array, (0, 1)).all():
        return "multilabel"
    if array.ndim == 2:
        return "segmentation"
    raise DataError(f"{what} is {array.dtype.name} {list(array.shape)}, of which no task can be guessed: give --task")


def _as_task_has_it(array: np.ndarray, task: str, what: str) -> np.ndarray:
    """Of the type and shape that the task stores."""
    is_float = array.dtype.kind == "f"
    if task in ("multiclass", "binary") and not is_float and array.ndim == 0:
        return array.astype(np.int64)
    if task == "multilabel" and not is_float and array.ndim == 1:
        return as_rows(array, np.dtype(np.uint8), what)
    if task == "segmentation" and not is_float and array.ndim == 2 and array.dtype.name in schema.MASK_DTYPES:
        return array
    if task == "regression" and array.ndim < 3:
        stored = array.astype(np.float32)
        if not is_float and not np.array_equal(stored, array):
            raise DataError(f"{what} is a whole number that float32 would round")
        return stored.reshape(()) if stored.shape == (1,) else stored
    expected = {"multilabel": "integers [C]", "segmentation": "integers [H, W]", "regression": "numbers or [C] or [H, W]"}
    raise DataError(
        f"{what} is {array.dtype.name} {list(array.shape)}, expected {expected.get(task, 'one integer')} for the task {task}"
    )
