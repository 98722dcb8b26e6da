# SPDX-License-Identifier: Apache-2.0
"""The lines of a label file, and which of them are whose image's."""

from collections import defaultdict
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from .errors import DataError, reading
from .image_files import ImageFiles

_SHOWN = 100  # characters of a line


class LabelFile:
    """lines: those that are not blank, with their numbers from 1. Raises DataError where there is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with reading(path):
            try:
                lines = path.read_text(encoding="utf-8-sig").splitlines()
            except UnicodeDecodeError as error:
                raise DataError(f"label file '{path}' is not text in UTF-8") from error
        self.lines = [(number, line.strip()) for number, line in enumerate(lines, start=1) if line.strip()]
        if not self.lines:
            raise DataError(f"label file '{path}' holds no label")

    def wrong(self, number: int, fault: str) -> DataError:
        return DataError(f"label file '{self.path}', line {number}: {fault}")

    def match(self, images: ImageFiles, names: Collection[str]) -> list[str]:
        """The name of each image: the longest end of its path that is one, else the only name that ends with its path.

        With the extension comes before without. Raises DataError for an image without a name, for two names that end
        with the path of one image, and for a name that fits two images.
        """
        finder = _Finder(self.path, names)
        found = [finder.find(file.name) for file in images.files]
        if missing := [file.name for file, name in zip(images.files, found, strict=True) if name is None]:
            others = f", nor have {len(missing) - 1} others of {len(found)}" if len(missing) > 1 else ""
            line = self.lines[0][1]
            raise DataError(
                f"image '{missing[0]}' has no label in '{self.path}'{others}; each image needs a line 'name label', the first "
                f"line of the file is '{line[:_SHOWN]}{'…' if len(line) > _SHOWN else ''}'"
            )
        used: dict[str, str] = {}
        matched = [name for name in found if name is not None]
        for file, name in zip(images.files, matched, strict=True):
            if name in used:
                raise DataError(
                    f"'{name}' in '{self.path}' fits two images, '{used[name]}' and '{file.name}'; write their paths"
                )
            used[name] = file.name
        return matched


class _Finder:
    def __init__(self, path: Path, names: Collection[str]) -> None:
        self._path = path
        self._names = names
        self._by_last: dict[str, list[str]] = {}

    def find(self, image: str) -> str | None:
        paths = (PurePosixPath(image), PurePosixPath(image).with_suffix(""))
        return next((name for find in (self._end_of, self._longer) for path in paths if (name := find(path))), None)

    def _end_of(self, path: PurePosixPath) -> str | None:
        ends = ("/".join(path.parts[first:]) for first in range(len(path.parts)))
        return next((end for end in ends if end in self._names), None)

    def _longer(self, path: PurePosixPath) -> str | None:
        """As where --input is a folder further down than that which the label file's paths begin in."""
        if not self._by_last:
            self._by_last = defaultdict(list)
            for name in self._names:
                self._by_last[name.rpartition("/")[2]].append(name)
        fitting = [name for name in self._by_last.get(path.name, ()) if name.endswith(f"/{path}")]
        if len(fitting) > 1:
            raise DataError(
                f"image '{path}' fits two names in '{self._path}', '{fitting[0]}' and '{fitting[1]}'; give --input a folder "
                "further up"
            )
        return fitting[0] if fitting else None
