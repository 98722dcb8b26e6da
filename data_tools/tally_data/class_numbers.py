# SPDX-License-Identifier: Apache-2.0
"""Which class a label is: a number, or a name whose number a model, a file or the data set says."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .class_order import read_class_names
from .errors import DataError, UsageError
from .json_form import JsonForm
from .model_config import ModelConfig, folder_of, read_model_config
from .options import ToolParser

_SHOWN = 12
Label = int | str


@dataclass(frozen=True)
class GivenClasses:
    """What --class-names or --like say; names: None where the model has none; origin: for messages."""

    names: list[str] | None
    count: int | None
    origin: str
    is_model: bool


@dataclass(frozen=True)
class ClassNumbers:
    """numbers: the class of each label that was met; names: of class 0, 1, …, None where nothing says them."""

    numbers: dict[Label, int]
    count: int
    names: list[str] | None


def add_class_options(parser: ToolParser) -> None:
    parser.add_argument("--class-names", type=Path, metavar="FILE", help="a line for each class, in the model's order")
    parser.add_argument(
        "--like", metavar="hf:FOLDER", help="number the classes as the model does whose config.json is in the folder"
    )


def given_classes(class_names: Path | None, like: str | None) -> GivenClasses | None:
    config = read_model_config(folder_of(like)) if like is not None else None
    if class_names is None:
        return _of_model(config) if config is not None else None
    names = read_class_names(class_names)
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise DataError(f"'{class_names}' names the class '{twice}' twice")
    if config is not None and config.num_classes not in (None, len(names)):
        raise UsageError(f"'{class_names}' names {len(names)} classes, '{config.path}' has {config.num_classes}")
    return GivenClasses(names, len(names), f"'{class_names}'", is_model=False)


def _of_model(config: ModelConfig) -> GivenClasses:
    return GivenClasses(config.class_names, config.num_classes, f"'{config.path}'", is_model=True)


def label_of(value: Any, given: GivenClasses | None) -> Label | None:
    """A name or a number, also one that is written as text where no class has it as its name; None of anything else."""
    if isinstance(value, str) and given is not None and given.names is not None and value in given.names:
        return value
    number = number_of(value)
    if number is not None:
        return number
    return value.strip() or None if isinstance(value, str) else None


def number_of(value: Any) -> int | None:
    """The whole number that a label is, also as text or as a fraction without one: 2, "2", 2.0; None of others."""
    if isinstance(value, str):
        text = value.strip().removesuffix(".0")
        digits = text.removeprefix("-")
        return int(text) if digits.isascii() and digits.isdecimal() and len(digits) < 19 else None
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**53 else None
    return int(value) if isinstance(value, int) and abs(value) < 2**63 else None


class Numbering:
    """Gives the labels of one field their numbers. labels: each that was met, with the first place that has it."""

    def __init__(self, form: JsonForm, key: str, given: GivenClasses | None, own_names: list[str] | None) -> None:
        """own_names: those that the data set itself has for its numbers."""
        self._form, self._key, self._given, self._own_names = form, key, given, own_names

    def numbers(self, labels: Mapping[Label, str], least: int) -> ClassNumbers:
        """Prints in which order the classes are. Raises DataError for a label that is none of them.

        least: how many classes there are at least, also where labels are of fewer.
        """
        named = {label for label in labels if isinstance(label, str)}
        if named and len(named) < len(labels):
            place = next(place for label, place in labels.items() if not isinstance(label, str))
            raise self._form.wrong(place, f"has a '{self._key}' that is a number, others are names")
        found = self._of_names(labels) if named else self._of_numbers(labels, least)
        if found.count < least:
            only = found.names[0] if found.names else ""
            raise DataError(f"all labels are '{only}': name all classes with --class-names or --like")
        return found

    def _of_names(self, labels: Mapping[Label, str]) -> ClassNumbers:
        given = self._given
        if given is None or given.names is None:
            names = sorted(map(str, labels))
            if given is not None and given.count not in (None, len(names)):
                raise DataError(
                    f"labels have {len(names)} names, {given.origin} has {given.count} without names: give --class-names"
                )
            print(f"note: classes sorted by name, as nothing says their order (--class-names, --like): {_listed(names)}")
            return ClassNumbers({name: number for number, name in enumerate(names)}, len(names), names)
        known = _Places(given.names)
        numbers: dict[Label, int] = {}
        for label, place in labels.items():
            number = known.find(str(label))
            if number is None:
                raise self._form.wrong(
                    place, f"has the {self._key} '{label}', which {given.origin} does not name: {_listed(given.names)}"
                )
            numbers[label] = number
        print(f"classes in the order of {given.origin}: {_listed(given.names)}")
        return ClassNumbers(numbers, len(given.names), given.names)

    def _of_numbers(self, labels: Mapping[Label, str], least: int) -> ClassNumbers:
        given, own = self._given, self._own_names
        names, order = order_by_name(own, given)
        largest = max((int(label) for label in labels), default=-1)
        count = len(own or names or []) or (given and given.count) or max(largest + 1, least)
        numbers: dict[Label, int] = {}
        for label, place in labels.items():
            if not 0 <= int(label) < count:
                raise self._form.wrong(place, f"has {self._key} = {label}, expected 0..{count - 1}")
            numbers[label] = order[int(label)] if order else int(label)
        if names is not None and own is None and given is not None:
            print(f"note: labels are numbers without names, and are taken for those of {given.origin}")
        if names is None:
            print(f"note: {count} classes without names, by {'the model' if given and given.count else 'the largest label'}")
        return ClassNumbers(numbers, count, names)


class _Places:
    """Finds classes by name: as it is written, else as the only one that is alike but for upper and lower case."""

    def __init__(self, names: Sequence[str]) -> None:
        counts = Counter(map(str.casefold, names))
        self._exact = {name: number for number, name in enumerate(names)}
        self._alike = {name.casefold(): number for number, name in enumerate(names) if counts[name.casefold()] == 1}

    def find(self, name: str) -> int | None:
        return self._exact.get(name, self._alike.get(name.casefold()))


def order_by_name(own: list[str] | None, given: GivenClasses | None) -> tuple[list[str] | None, list[int]]:
    """Names of the classes in their order, and for each class of the data set its place there.

    own: names that the data set has for its numbers. Prints where the names are from. Raises DataError where the two
    do not fit.
    """
    if own is not None and given is not None and given.count not in (None, len(own)):
        raise DataError(f"the data set has the classes {_listed(own)}, but {given.origin} has {given.count}")
    unchanged = list(range(len(own or [])))
    if given is None or given.names is None:
        if own is not None:
            print(f"classes in the order of the data set: {_listed(own)}")
        return own, unchanged
    print(f"classes in the order of {given.origin}: {_listed(given.names)}")
    places = _Places(given.names)
    found = [places.find(name) for name in own or []]
    order = [-1 if number is None else number for number in found]
    if sorted(order) == unchanged:
        if order != unchanged:
            print(f"note: the data set numbers its classes otherwise ({_listed(own or [])}): labels are renumbered by name")
        return given.names, order
    if given.is_model or any(number >= 0 for number in order):
        raise DataError(
            f"the data set has the classes {_listed(own or [])}, but {given.origin} has {_listed(given.names)}: give "
            "--class-names with the data set's names in the order of the model"
        )
    return given.names, unchanged  # a file of other names: titles for the same classes


def _listed(names: list[str]) -> str:
    more = f", … {len(names) - 1} {names[-1]}" if len(names) > _SHOWN else ""
    return ", ".join(f"{number} {name}" for number, name in enumerate(names[:_SHOWN])) + more
