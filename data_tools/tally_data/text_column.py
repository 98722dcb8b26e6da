# SPDX-License-Identifier: Apache-2.0
"""A column of texts that is filled in pieces and becomes a ragged array (SCHEMA.md)."""

import re
from array import array
from collections.abc import Iterable

import numpy as np

from .errors import DataError

NAMES = "/samples/name"
MOST_BYTES = 65_535
_CONTROL = re.compile(r"[\0-\x1f\x7f-\x9f]")
_UNPRINTABLE = re.compile(r"[\0-\x1f\x7f-\x9f\ud800-\udfff]")


class TextColumn:
    """`num_rows` texts, each of one line and at most MOST_BYTES of UTF-8. Held as bytes until the file is finished."""

    def __init__(self, path: str, num_rows: int) -> None:
        self.path = path
        self._num_rows = num_rows
        self._values = bytearray()
        self._lengths = array("q")

    def append(self, texts: Iterable[str]) -> None:
        """Adds texts behind those added before. Raises DataError for one that cannot be stored."""
        for text in texts:
            row = self._checked(text)
            self._values += row
            self._lengths.append(len(row))

    def _checked(self, text: str) -> bytes:
        where = f"{self.path}[{len(self._lengths)}]"
        if len(self._lengths) == self._num_rows:
            raise DataError(f"{where} was written, the set was declared with {self._num_rows} rows")
        if not isinstance(text, str):
            raise DataError(f"{where} is {type(text).__name__}, expected str")
        try:
            row = text.encode()
        except UnicodeEncodeError as error:
            raise DataError(f"{where} = {text!a} cannot be written in UTF-8") from error
        if _CONTROL.search(text):
            raise DataError(f"{where} = {text!a} holds a control character, expected one line of text")
        if len(row) > MOST_BYTES:
            raise DataError(f"{where} has {len(row)} bytes, expected at most {MOST_BYTES}")
        return row

    def require_complete(self) -> None:
        if len(self._lengths) != self._num_rows:
            raise DataError(f"{self.path}: {len(self._lengths)} rows were written, expected {self._num_rows}")

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """values uint8 [M], offsets int64 [num_rows + 1]"""
        offsets = np.zeros(len(self._lengths) + 1, np.int64)
        np.cumsum(self._lengths, out=offsets[1:])
        return np.frombuffer(self._values, np.uint8), offsets


def printable(name: str) -> str:
    """A file's name as a text that can be stored: bytes that are no UTF-8 and control characters become \\xNN."""
    return _UNPRINTABLE.sub(_escaped, name)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # how Python holds a byte that is no UTF-8
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
