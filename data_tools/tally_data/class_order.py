# SPDX-License-Identifier: Apache-2.0
"""Which class a folder of images is: in the order of torchvision, of timm, or of a file."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from .errors import DataError, UsageError, reading
from .image_files import ImageFiles

TORCHVISION, TIMM, FILE = "torchvision", "timm", "file"
_SHOWN = 5
_SYNSET = re.compile(r"(n\d{8})(\s|$)")  # as ImageNet calls its classes


@dataclass(frozen=True)
class ClassOrder:
    """folders: class k is folders[k]; names: what the classes are called; rule: TORCHVISION, TIMM or FILE."""

    folders: list[str]
    names: list[str]
    rule: str

    def summary(self) -> str:
        """One line on what was chosen, with the first classes."""
        source = "the order of the file" if self.rule == FILE else f"{self.rule}'s order"
        pairs = zip(self.folders, self.names, strict=True)
        shown = [folder if folder == name else f"{folder} ({name})" for folder, name in pairs]
        more = f", … {len(shown) - 1} {shown[-1]}" if len(shown) > _SHOWN else ""
        return f"classes in {source}: " + ", ".join(f"{k} {text}" for k, text in enumerate(shown[:_SHOWN])) + more


def read_class_names(path: Path) -> list[str]:
    """A line per class, without blanks around the name; blank lines may stand at the end only. Raises DataError."""
    with reading(path):
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise DataError(f"class names '{path}' are not text in UTF-8") from error
    if not text.strip():
        raise DataError(f"class names '{path}' hold no name")
    names = [line.strip() for line in text.rstrip().splitlines()]
    if "" in names:
        raise DataError(f"class names '{path}', line {names.index('') + 1} is empty, expected the name of a class in each line")
    return names


def synsets_of(names: Sequence[str]) -> list[str]:
    """The synset that begins each of the names, as in LOC_synset_mapping.txt; none where one has none or two are equal."""
    found = [match[1] for name in names if (match := _SYNSET.match(name))]
    return found if len(found) == len(names) == len(set(found)) else []


def order_classes(images: ImageFiles, order: str | None, names_file: Path | None) -> ClassOrder:
    """order: torchvision (also None), timm, or the path of a file that names every folder.

    The names in `names_file` order the classes where they are the folders' names; where none of them is one they are
    what the classes, which are in the order `order`, are called. Raises DataError where names and folders do not fit.
    """
    if names_file is None:
        return _without_names(images, order)
    names = read_class_names(names_file)
    folders = names if set(names) & set(images.folders) else synsets_of(names)
    if set(folders) & set(images.folders):
        _check_same(images.folders, folders, names_file)
        if order is not None and _without_names(images, order).folders != folders:
            raise UsageError(
                f"--class-order {order} is another order than that of the folders' names in '{names_file}'; leave one out"
            )
        return _checked(images, folders, names, FILE)
    ordered = _without_names(images, order)
    _check_titles(ordered.folders, names, names_file)
    return ClassOrder(ordered.folders, names, ordered.rule)


def _without_names(images: ImageFiles, order: str | None) -> ClassOrder:
    if order in (None, TORCHVISION):
        folders, rule = sorted(images.folders), TORCHVISION
    elif order == TIMM:
        folders, rule = _as_timm(images), TIMM
    elif not Path(order).exists():
        raise UsageError(f"--class-order is '{order}', expected torchvision, timm or a file that names the folders")
    else:
        folders, rule = read_class_names(Path(order)), FILE
        _check_same(images.folders, folders, Path(order))
    return _checked(images, folders, folders, rule)


def _natural_key(name: str) -> list[str | int]:
    """As timm.utils.misc.natural_key."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name.lower())]


def _as_timm(images: ImageFiles) -> list[str]:
    """Sorts as timm's folder reader does. Raises DataError where its classes are not the top folders in one order."""
    deep = next((file.name for file in images.files if file.name.count("/") > 1), None)
    if deep is not None:
        raise DataError(
            f"image '{deep}' is of the class '{PurePosixPath(deep).parent.name}' to timm, which takes the innermost "
            "folder; give a file to --class-order"
        )
    folders = sorted(images.folders, key=_natural_key)
    for one, other in zip(folders, folders[1:], strict=False):
        if _natural_key(one) == _natural_key(other):
            raise DataError(
                f"timm has no order for the folders '{one}' and '{other}', which are alike to it; give a file to "
                "--class-order"
            )
    return folders


def _checked(images: ImageFiles, folders: list[str], names: list[str], rule: str) -> ClassOrder:
    """A folder without images is a class only where a file says so: it would shift the labels of those behind it."""
    used = {file.name.partition("/")[0] for file in images.files}
    empty = [folder for folder in folders if folder not in used]
    if empty and rule != FILE:
        raise DataError(
            f"{_listed(empty, 'folder')} no image: remove it, or name all classes with --class-order FILE "
            "(torchvision's ImageFolder refuses empty folders as well)"
        )
    if empty:
        print(f"note: {_listed(empty, 'folder')} no image, but the class counts")
    return ClassOrder(folders, names, rule)


def _listed(names: Sequence[str], what: str) -> str:
    """As subject of a verb: "the folder 'a' has", "3 folders ('a', 'b', 'c') have"."""
    if len(names) == 1:
        return f"the {what} '{names[0]}' has"
    more = ", …" if len(names) > _SHOWN else ""
    return f"{len(names)} {what}s ({', '.join(map(repr, names[:_SHOWN]))}{more}) have"


def _check_same(folders: list[str], names: list[str], path: Path) -> None:
    """Each folder is named once, and nothing else is."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataError(f"'{path}' names the folder '{repeated[0]}' more than once")
    faults = []
    if unknown := [name for name in names if name not in set(folders)]:
        faults.append(f"{_listed(unknown, 'name')} no folder")
    if unnamed := [folder for folder in folders if folder not in set(names)]:
        faults.append(f"{_listed(unnamed, 'folder')} no name")
    if faults:
        raise DataError(f"'{path}' does not fit the class folders: {' and '.join(faults)}")


def _check_titles(folders: list[str], titles: list[str], path: Path) -> None:
    """As many as folders, and none that is another folder's name but for upper and lower case."""
    if len(titles) != len(folders):
        raise UsageError(f"there are {len(titles)} class names in '{path}' for {len(folders)} class folders")
    place = {folder.casefold(): number for number, folder in enumerate(folders)}
    for number, title in enumerate(titles):
        if place.get(title.casefold(), number) != number:
            raise DataError(
                f"'{path}' calls the class of the folder '{folders[number]}' '{title}', which looks like another folder; "
                "to order the classes, write the folders' names as they are"
            )
