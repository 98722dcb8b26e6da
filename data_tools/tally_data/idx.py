# SPDX-License-Identifier: Apache-2.0
"""The idx files of MNIST and its relatives: a big-endian header, then uint8 values."""

import gzip
import zlib
from pathlib import Path

import numpy as np

from .errors import DataError, reading


def find_idx(folder: Path, stem: str) -> Path:
    """The file `stem` in `folder`, plain or gzipped."""
    with reading(folder):
        folder.stat()
    for candidate in (folder / stem, folder / f"{stem}.gz"):
        if candidate.is_file():
            return candidate
    raise DataError(f"there is no '{stem}' and no '{stem}.gz' in '{folder}'")


def _content(path: Path) -> bytes:
    with reading(path):
        raw = path.read_bytes()
        if raw[:2] != b"\x1f\x8b":
            return raw
        try:
            return gzip.decompress(raw)
        except zlib.error as error:
            raise DataError(f"'{path}' is a damaged gzip file: {error}") from error


def read_idx(path: Path, num_dimensions: int) -> np.ndarray:
    """uint8 array of `num_dimensions` dimensions."""
    content = _content(path)
    header_bytes = 4 + 4 * num_dimensions
    if len(content) < header_bytes or content[:4] != bytes([0, 0, 8, num_dimensions]):
        found = content[:4].hex(" ") or "nothing"
        raise DataError(
            f"'{path}' is not an idx file of uint8 with {num_dimensions} dimensions: it begins with {found}"
        )
    shape = [int(size) for size in np.frombuffer(content, ">u4", num_dimensions, offset=4)]
    values = np.frombuffer(content, np.uint8, offset=header_bytes)
    if values.size != np.prod(shape, dtype=object):
        raise DataError(f"'{path}' holds {values.size} values, its header says {'x'.join(map(str, shape))}")
    return values.reshape(shape)
