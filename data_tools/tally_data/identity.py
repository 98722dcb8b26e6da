# SPDX-License-Identifier: Apache-2.0
"""The identity of a data set file, by which the index of a set of several files names its content.

It is what `tally inspect` prints as identity, of a file with all checksums whose only tables are names and sets of labels.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np

from .structure import CHECKSUMS
from .text_column import NAMES

_TABLES = (f"{NAMES}/offsets", f"{NAMES}/values", "/targets/labels/offsets", "/targets/labels/values")


def identity(file: h5py.File) -> str:
    """SHA-256, in hexadecimal digits, of what decides what is read and scored: checksums stand for the rows."""
    digest = hashlib.sha256()
    for key, value in _root_fields(file):
        digest.update(_field(key, value))
    for path in _columns(file):
        table = file[f"{CHECKSUMS}{path}"]
        for key, value in [*_column_fields(path, file[path]), ("rows_per_block", table.attrs["rows_per_block"])]:
            digest.update(_field(key, value))
        digest.update(table[...].astype("<u4").tobytes())
    return digest.hexdigest()


def _field(key: str, value: Any) -> bytes:
    text = value if isinstance(value, bytes) else str(value).encode()
    return b"%s %d:%s\n" % (key.encode(), len(text), text)


def _root_fields(file: h5py.File) -> Iterator[tuple[str, Any]]:
    yield "tally_schema", file.attrs["tally_schema"]
    yield "task", file.attrs["task"]
    yield "num_classes", file.attrs.get("num_classes", 0)
    if "ignore_index" in file.attrs:
        yield "ignore_index", file.attrs["ignore_index"]
    for name in file["class_names"] if "class_names" in file else ():
        yield "class_name", name
    yield "num_samples", len(next(iter(file["inputs"].values())))


def _columns(file: h5py.File) -> list[str]:
    inputs, groups = (
        [f"/{group}/{name}" for name in sorted(file.get(group, ()), key=str.encode)] for group in ("inputs", "groups")
    )
    return [path for path in (*inputs, "/targets/label", *groups, "/lengths", *_TABLES) if path in file]


def _column_fields(path: str, column: h5py.Dataset) -> Iterator[tuple[str, Any]]:
    yield "column", path
    yield "dtype", column.dtype.name
    yield "row_shape", list(column.shape[1:])
    attributes = column.attrs
    if "padding" in attributes:
        yield "padding", attributes["padding"]
    elif path == "/targets/label" and len(column.shape) == 2 and "lengths" in column.file:
        root = column.file.attrs
        if root["task"] == b"token-classification":  # whose labels are filled up as the inputs are
            yield "padding", root["ignore_index"]
    if "layout" not in attributes:
        return
    yield "layout", attributes["layout"]
    yield "channels", attributes["channels"]
    for name in ("scale", "mean", "std"):
        for number in np.ravel(attributes[name]):
            yield name, _hexadecimal(number)
    sizes = [f"{name} {'x'.join(map(str, attributes[name]))}" for name in ("resize", "crop") if name in attributes]
    words = [attributes[name].decode() for name in ("crop_mode", "interpolation") if name in attributes]
    if sizes or words:
        yield "geometry", ", ".join(sizes + words)


def _hexadecimal(number: float) -> str:
    """As C's %a has it: without the zeros at the end of the fraction."""
    digits, exponent = float(number).hex().split("p")
    return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits}p{exponent}"
