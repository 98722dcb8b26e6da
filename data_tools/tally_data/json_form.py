# SPDX-License-Identifier: Apache-2.0
"""JSON files of a known form: what is read from them is checked, and every fault names its place in the file."""

import codecs
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .errors import DataError, reading

_KINDS = {list: "a list", str: "text", dict: "an object"}
_INT64 = range(-(2**63), 2**63)


def parse_json(path: Path) -> Any:
    """The content of the file."""
    _refuse_special(path)
    with reading(path):
        try:
            return json.loads(path.read_text(encoding="utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise DataError(f"'{path}' is not a JSON file: {error}") from error


def parse_json_lines(path: Path) -> Iterator[tuple[str, Any]]:
    """The value of each line that is not blank, with its place: "line 3"."""
    _refuse_special(path)
    with reading(path):
        content = path.read_bytes()
    for number, line in enumerate(content.removeprefix(codecs.BOM_UTF8).split(b"\n"), start=1):
        if line.strip():
            try:
                yield f"line {number}", json.loads(line.decode())
            except (ValueError, RecursionError) as error:
                raise DataError(f"'{path}', line {number}, is not JSON: {error}") from error


def _refuse_special(path: Path) -> None:
    """A pipe could wait for ever, and a device need not end. What else is wrong with a path, reading it says."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise DataError(f"'{path}' is not a regular file")


class JsonForm:
    """Takes values out of what was read from `path`; each place is named as a program would write it."""

    def __init__(self, path: Path, form: str) -> None:
        self._path = path
        self._form = form  # such as "SQuAD's form"

    def field(self, value: Any, place: str, key: str, kind: type) -> Any:
        if not isinstance(value, dict) or not isinstance(value.get(key), kind):
            raise self.wrong(place or "the top", f"has no '{key}' that is {_KINDS[kind]}")
        return value[key]

    def text(self, value: Any, place: str, key: str) -> str:
        return self.plain_text(self.field(value, place, key, str), place, key)

    def plain_text(self, text: str, place: str, key: str) -> str:
        """`text`, which has been found under `key`, if it can be written in UTF-8."""
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise self.wrong(place, f"has a '{key}' with half a surrogate pair, which is no character") from error
        return text

    def whole(self, value: Any, place: str, key: str) -> int:
        """A whole number of 64 bits."""
        found = value.get(key) if isinstance(value, dict) else None
        if isinstance(found, bool) or not isinstance(found, int) or found not in _INT64:
            raise self.wrong(place, f"has no '{key}' that is a whole number")
        return found

    def identity(self, value: Any, place: str, key: str, known: dict[str, str]) -> str:
        """A text or whole number that is not among those `known` with their places; else the place's own number."""
        found = value.get(key, place.split()[-1]) if isinstance(value, dict) else None
        if isinstance(found, bool) or not isinstance(found, str | int):
            raise self.wrong(place, f"has no '{key}' that is text or a whole number")
        identity = self.plain_text(str(found), place, key)
        if first := known.get(identity):
            raise self.wrong(place, f"has the {key} '{identity}' that {first} has already")
        known[identity] = place
        return identity

    def number(self, found: Any, place: str, what: str) -> float:
        """`found` as a finite number; what: such as "an area"."""
        try:
            if not isinstance(found, bool) and isinstance(found, int | float) and math.isfinite(found):
                return float(found)
        except OverflowError:  # a whole number of hundreds of digits
            pass
        raise self.wrong(place, f"has {what} that is no finite number")

    @staticmethod
    def items(values: list[Any], place: str) -> Iterator[tuple[str, Any]]:
        return ((f"{place}[{index}]", value) for index, value in enumerate(values))

    def wrong(self, place: str, what: str) -> DataError:
        return DataError(f"'{self._path}' is not in {self._form}: {place} {what}")
