# SPDX-License-Identifier: Apache-2.0
"""One sample as a data set of others gives it, and which of its columns are inputs and target."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .errors import DataError, UsageError

UNNAMED = ""  # an input that has no name where it comes from
TARGETS = ("label", "labels", "target")  # names by which a target is known


class Item(NamedTuple):
    """inputs: by name, or UNNAMED alone; target: None where there is none; name: that of its file, where there is one."""

    inputs: Mapping[str, Any]
    target: Any = None
    name: str | None = None

    def place(self, index: int) -> str:
        """For messages."""
        return f"item {index}" + (f" ('{self.name}')" if self.name is not None else "")


@dataclass(frozen=True)
class ColumnChoice:
    """What --input-column and --target-column say (None: nothing), and whether a target is wanted at all."""

    inputs: tuple[str, ...] | None
    target: str | None
    wants_target: bool

    def target_of(self, columns: Collection[str], known: Sequence[str] = TARGETS) -> str | None:
        """Raises UsageError where a target is wanted and none of the `columns` is known as one."""
        if not self.wants_target:
            return None
        if self.target is not None:
            return self._present(self.target, columns)
        if found := [name for name in known if name in columns]:
            return found[0]
        raise UsageError(
            f"the target may be any of {_listed(columns)}: name it with --target-column, or give --task predict without one"
        )

    def inputs_of(self, columns: Collection[str], known: Sequence[str]) -> list[str]:
        """known: default inputs, of which the first that is there is taken. Raises UsageError where none is."""
        if self.inputs is not None:
            return [self._present(name, columns) for name in self.inputs]
        if found := [name for name in known if name in columns]:
            return found[:1]
        raise UsageError(f"the input may be any of {_listed(columns)}: name it with --input-column")

    @staticmethod
    def _present(name: str, columns: Collection[str]) -> str:
        if name not in columns:
            raise UsageError(f"there is no column '{name}'; the columns are {_listed(columns)}")
        return name


def _listed(columns: Collection[str]) -> str:
    return ", ".join(f"'{name}'" for name in columns)


def item_of(value: Any, index: int, choice: ColumnChoice) -> Item:
    """Of what a torch Dataset returns: (input, target), a dict, or, where no target is wanted, the input alone."""
    if isinstance(value, Mapping):
        return _item_of_mapping(value, index, choice)
    is_sequence = isinstance(value, tuple | list)
    if is_sequence and len(value) == 2:
        inputs = value[0] if isinstance(value[0], Mapping) else {UNNAMED: value[0]}
        return Item(inputs, value[1] if choice.wants_target else None)
    if not choice.wants_target and not (is_sequence and len(value) > 2):
        return Item({UNNAMED: value[0] if is_sequence and len(value) == 1 else value})
    kind = f"{type(value).__name__}{f' of {len(value)}' if is_sequence else ''}"
    without = " (without targets: --task predict)" if choice.wants_target else ""
    raise DataError(f"item {index} is a {kind}, expected (input, target) or a dict{without}")


def _item_of_mapping(value: Mapping[str, Any], index: int, choice: ColumnChoice) -> Item:
    try:
        target = choice.target_of(value)
        others = [key for key in value if key != target and (choice.wants_target or key not in TARGETS)]
        names = choice.inputs_of(value, others) if choice.inputs is not None else others
    except UsageError as error:
        if index == 0:
            raise
        raise DataError(f"item {index} is another than the first: {error}") from error
    if not names:
        raise DataError(f"item {index} has no input beside its target '{target}'")
    return Item({name: value[name] for name in names}, None if target is None else value[target])
