"""Which label an image file has: from a label file, or from its folder."""

import csv
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from .errors import DataError, reading
from .image_files import ImageFiles


@dataclass(frozen=True)
class Labels:
    """labels: one per image file, in order; num_unused: lines of the label file without an image."""

    labels: list[int]
    num_classes: int
    class_names: list[str] | None
    num_unused: int


def _split(line: str) -> list[str]:
    """`name, label` or csv where there is a comma; else `name label`, where the name may hold blanks."""
    if "," in line:
        return [part.strip() for part in next(csv.reader([line], skipinitialspace=True))]
    return line.rsplit(maxsplit=1)


def read_label_file(path: Path) -> dict[str, int]:
    """name -> label. A first line whose label is no number is a header."""
    with reading(path):
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise DataError(f"label file '{path}' is not text in UTF-8") from error
    table: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        parts = _split(line.strip())
        if len(parts) == 2 and parts[1].isdecimal():
            name, label = str(PurePosixPath(parts[0])), int(parts[1])
            if table.setdefault(name, label) != label:
                raise DataError(
                    f"label file '{path}', line {number}: '{name}' has the labels {table[name]} and {label}"
                )
        elif number > 1 or len(parts) != 2:
            raise DataError(
                f"label file '{path}', line {number}: '{line.strip()}' is not a name and a label of 0 or more"
            )
    if not table:
        raise DataError(f"label file '{path}' holds no label")
    return table


def _find(name: str, table: dict[str, int]) -> str | None:
    """The longest end of the path `name` that the table knows; then the same without the extension."""
    for path in (PurePosixPath(name), PurePosixPath(name).with_suffix("")):
        for first in range(len(path.parts)):
            key = "/".join(path.parts[first:])
            if key in table:
                return key
    return None


def labels_from_file(images: ImageFiles, path: Path) -> Labels:
    """Raises DataError for an image without a label, and for a name that fits two images."""
    table = read_label_file(path)
    labels, used = [], {}
    for file in images.files:
        key = _find(file.name, table)
        if key is None:
            raise DataError(f"image '{file.name}' has no label in '{path}'; each image needs a line 'name label'")
        if key in used:
            raise DataError(
                f"'{key}' in '{path}' fits two images, '{used[key]}' and '{file.name}'; write their paths"
            )
        used[key] = file.name
        labels.append(table[key])
    return Labels(labels, max(table.values()) + 1, None, len(table) - len(used))


def labels_from_folders(images: ImageFiles) -> Labels:
    """Class k is the k-th top folder in alphabetical order, as in torchvision's ImageFolder."""
    index = {folder: number for number, folder in enumerate(images.folders)}
    labels = []
    for file in images.files:
        top, slash, _ = file.name.partition("/")
        if not slash:
            raise DataError(
                f"image '{file.name}' has no label: give --labels, or put it into a folder of its class"
            )
        labels.append(index[top])
    return Labels(labels, len(index), images.folders, 0)
