# SPDX-License-Identifier: Apache-2.0
"""Files of JSON lines that another program appends to."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from tally_data.errors import DataError, reading


class FileReplaced(DataError):
    """The file is not the one whose lines were read before."""


def new_lines(path: Path, position: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The whole lines behind `position` ({} at first), which moves on when the next one is asked for.

    Raises FileReplaced, or DataError for a line that is no JSON object.
    """
    if not path.is_file():
        return
    found = path.stat()
    if (found.st_size, found.st_mtime_ns) == (position.get("offset"), position.get("modified_ns")):
        return
    with reading(path), path.open("rb") as file:
        first = file.readline()
        if first.endswith(b"\n"):
            begun = hashlib.sha256(first).hexdigest()[:16]
            if position.get("begun", begun) != begun or found.st_size < position.get("offset", 0):
                raise FileReplaced(f"'{path}' has been written anew since it was published")
            position.update({"offset": 0, "lines": 0} | position | {"begun": begun, "modified_ns": found.st_mtime_ns})
            yield from _from_here(file, path, position)


def _from_here(file: BinaryIO, path: Path, position: dict[str, Any]) -> Iterator[dict[str, Any]]:
    file.seek(position["offset"])
    for line in file:
        if not line.endswith(b"\n"):
            return  # still being written
        yield _parsed(line, f"'{path}' line {position['lines'] + 1}")
        position["offset"] += len(line)
        position["lines"] += 1


def _parsed(line: bytes, place: str) -> dict[str, Any]:
    try:
        content = json.loads(line)
    except ValueError as error:
        raise DataError(f"{place} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise DataError(f"{place} is no JSON object")
    return content


def read_object(path: Path) -> dict[str, Any] | None:
    """A file that holds one JSON object; None where there is no file."""
    if not path.is_file():
        return None
    with reading(path):
        return _parsed(path.read_bytes(), f"'{path}'")
