# SPDX-License-Identifier: Apache-2.0
"""The parts of a data set that is still being made: a run that was cut off goes on behind the last whole one."""

import fcntl
import json
import shutil
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import h5py

from .atomic import atomic_path
from .errors import OutputError, reading

_SETTINGS = "settings.json"
_VERSION = 1


class PartFolder:
    """`OUTPUT.parts`: whole data set files 00000.h5, 00001.h5, … and the settings that they were made with.

    Used in a `with` statement it is removed at the end of the block; after a failure it stays if a part is whole. Parts of
    other settings are removed, with a note. Raises OutputError where another process is making the same data set, or the
    folder is something else.
    """

    def __init__(self, output: Path, settings: dict[str, Any]) -> None:
        self.path = output.with_name(f"{output.name}.parts")
        self._settings = json.loads(json.dumps(settings))

    def part(self, number: int) -> Path:
        return self.path / f"{number:05d}.h5"

    def rows_of_parts(self) -> list[int]:
        """Of those that are there, in order of number."""
        numbers = sorted(int(path.stem) for path in self.path.glob("*.h5"))
        return [self._read_num_rows(number) for number in numbers]

    def _read_num_rows(self, number: int) -> int:
        with reading(self.part(number)), h5py.File(self.part(number)) as file:
            return int(file.attrs["num_rows"])

    def __enter__(self) -> Self:
        try:
            self._open()
        except OSError as error:
            raise OutputError(f"'{self.path}' cannot be written: {error.strerror or error}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        whole = sorted(self.path.glob("*.h5")) if kind is not None else []
        if whole:
            print(f"note: {len(whole)} finished parts stay in '{self.path}'; the same command goes on with them")
        self._lock.close()  # first: network file systems keep a file that is open
        if not whole:
            shutil.rmtree(self.path, ignore_errors=True)

    def _open(self) -> None:
        settings = self.path / _SETTINGS
        if self.path.exists() and not settings.exists() and any(self.path.iterdir()):
            raise OutputError(f"'{self.path}' is where parts of the data set are kept, but it is something else: remove it")
        self.path.mkdir(exist_ok=True)
        self._lock = (self.path / ".lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise OutputError(f"another process is making '{self.path}': wait for it, or give another --output") from error
        except OSError:  # a file system without locks
            pass
        found = _read(settings) if settings.exists() else None
        if found is not None and found != self._settings:
            others = [name for name in self._settings if (found or {}).get(name) != self._settings[name]]
            print(f"note: '{self.path}' holds parts of another command (other {', '.join(others)}): they are made anew")
        for path in self.path.iterdir():  # parts of another command, and what a killed process was writing
            if path.name != ".lock" and (path.name.startswith(".") or found != self._settings):
                path.unlink()
        if found != self._settings:
            with atomic_path(settings, True) as temporary:
                temporary.write_text(json.dumps({"tally_parts": _VERSION, "settings": self._settings}, indent=1))


def _read(path: Path) -> dict[str, Any]:
    """Empty where it is damaged or of another version."""
    with reading(path):
        try:
            content = json.loads(path.read_text())
            return content["settings"] if content["tally_parts"] == _VERSION else {}
        except (ValueError, KeyError, TypeError):
            return {}
