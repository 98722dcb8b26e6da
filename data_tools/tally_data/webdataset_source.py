# SPDX-License-Identifier: Apache-2.0
"""Samples of WebDataset's tars: files of one key, `key.jpg` and `key.cls`, stand one after the other and are a sample."""

import io
import json
import re
from collections.abc import Iterator
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np

from .errors import DataError
from .image_files import ImageFile, list_tar
from .items import ColumnChoice, Item
from .sources import fingerprint_of_files

_IMAGES = ("jpg", "jpeg", "png", "ppm", "pgm", "pbm", "webp", "bmp", "tif", "tiff")
_NUMBERS = ("cls", "cls2", "class", "count", "index", "inx", "id")  # as webdataset decodes them
_TEXTS = ("txt", "text")
_TARGETS = ("cls", "class")
_META = re.compile(r"__[^/]*__($|/)")  # files that are not samples
_KEY = re.compile(r"((?:.*/|)[^.]+)[.]([^/]*)")  # the extension is all behind the first dot of the name
_NUMBER_RANGE = re.compile(r"(\d+)\.\.(\d+)")
Sample = dict[str, ImageFile]


def find_tars(pattern: str) -> list[Path]:
    """Of a file, a folder of tars, or a pattern such as `val-{000..015}.tar` or `val-*.tar`; none where it is none of these."""
    path = Path(pattern)
    if path.is_dir():
        return sorted(path.glob("*.tar"))
    if path.exists():
        return [path] if path.suffix in (".tar", ".gz", ".tgz") else []
    if ".tar" not in pattern or not set(pattern) & set("{*?["):
        return []
    found = []
    for name in _expanded(pattern):
        files = sorted(glob(name)) if set(name) & set("*?[") else [name]
        if not files or not Path(files[0]).is_file():
            raise DataError(f"'{name}', of '{pattern}', does not exist")
        found += map(Path, files)
    return found


def _expanded(pattern: str) -> list[str]:
    """`{000..002}` and `{a,b}`, as the shell expands them."""
    match = re.search(r"\{([^{}]*)\}", pattern)
    if match is None:
        return [pattern]
    if numbers := _NUMBER_RANGE.fullmatch(match[1]):
        width = len(numbers[1]) if numbers[1].startswith("0") else 0
        parts = [f"{number:0{width}d}" for number in range(int(numbers[1]), int(numbers[2]) + 1)]
    else:
        parts = match[1].split(",")
    return [name for part in parts for name in _expanded(pattern[: match.start()] + part + pattern[match.end() :])]


class WebDatasetSource:
    """The samples of tars in their order."""

    class_names = None
    renames_image = True

    def __init__(self, samples: list[tuple[str, Sample]], choice: ColumnChoice, fingerprint: str) -> None:
        self.num_items = len(samples)
        self.fingerprint = fingerprint
        self._samples = samples
        columns = samples[0][1]
        self._inputs = choice.inputs_of(columns, [*(name for name in columns if name in _IMAGES), "npy"])
        self._target = choice.target_of(_with_fields(columns, choice.target), _TARGETS)

    def read(self, first: int, last: int | None) -> Iterator[Item]:
        for index, (key, sample) in enumerate(self._samples[first:last], first):
            place = f"item {index} ('{key}')"
            inputs = {name: _value(sample, name, place) for name in self._inputs}
            yield Item(inputs, None if self._target is None else _value(sample, self._target, place), key)


def _with_fields(columns: Sample, target: str | None) -> list[str]:
    """The columns, and `json:label`, a field of the column `json`."""
    is_field = target is not None and target.partition(":")[0] in columns
    return [*columns, *([target] if target is not None and is_field and target not in columns else [])]


def _value(sample: Sample, column: str, place: str) -> Any:
    name, _, key = column.partition(":")
    if name not in sample:
        raise DataError(f"{place} has no '{name}', it has {', '.join(sample)}")
    value = _decoded(sample[name].read(), name, f"{place}: '{name}'")
    if not key:
        return value
    if not isinstance(value, dict) or key not in value:
        raise DataError(f"{place}: '{name}' has no field '{key}'")
    return value[key]


def _decoded(content: bytes, name: str, what: str) -> Any:
    """By the extension's last part; images stay encoded."""
    kind = name.rpartition(".")[2]
    if kind in _IMAGES:
        return content
    try:
        if kind in _NUMBERS:
            return int(content)
        if kind in _TEXTS:
            return content.decode().strip()
        if kind == "json":
            return json.loads(content)
        if kind == "npy":
            return np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise DataError(f"{what} cannot be read: {error}") from error
    known = ", ".join((*_IMAGES, *_NUMBERS, *_TEXTS, "json", "npy"))
    raise DataError(f"{what} is of a kind that is not read: expected {known}")


def open_web_dataset(tars: list[Path], choice: ColumnChoice) -> WebDatasetSource:
    samples = [sample for tar in tars for sample in _samples_of(tar)]
    if not samples:
        raise DataError(f"'{tars[0]}' holds no files such as key.jpg and key.cls")
    return WebDatasetSource(samples, choice, fingerprint_of_files(tars))


def _samples_of(tar: Path) -> list[tuple[str, Sample]]:
    samples: list[tuple[str, Sample]] = []
    for file in list_tar(tar):
        match = _KEY.fullmatch(file.name)
        if match is None or _META.match(file.name):
            continue
        key, extension = match[1], match[2].lower()
        if not samples or samples[-1][0] != key:
            samples.append((key, {}))
        if extension in samples[-1][1]:
            raise DataError(f"'{tar}' holds '{file.name}' twice")
        samples[-1][1][extension] = file
    return samples
