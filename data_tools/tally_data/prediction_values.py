# SPDX-License-Identifier: Apache-2.0
"""What a predictions.h5 holds for each task, and how values of other programs become that."""

from dataclasses import dataclass

import numpy as np

from .errors import DataError, UsageError
from .prediction_tables import PredictionTable
from .scored_set import ScoredSet

LOGITS, LOG_PROBABILITIES, PROBABILITIES, CLASSES, VALUES = "logits", "log-probabilities", "probabilities", "classes", "values"
OUTPUTS = (LOGITS, LOG_PROBABILITIES, PROBABILITIES, CLASSES, VALUES)
_SCORES_OR_CLASSES = (LOGITS, LOG_PROBABILITIES, PROBABILITIES, CLASSES)
_OF_TASK = {
    "binary": _SCORES_OR_CLASSES,
    "multiclass": _SCORES_OR_CLASSES,
    "multilabel": _SCORES_OR_CLASSES,
    "regression": (VALUES,),
    "segmentation": (CLASSES,),
}
_MOST_BYTE_CLASSES = 255  # in a mask of bytes 255 is no prediction


def outputs_of(asked: str | None, scored: ScoredSet) -> str:
    """What the predictions are: `asked`, or the only kind that the task has. It is never guessed from values."""
    known = _OF_TASK.get(scored.task)
    if known is None:
        raise UsageError(
            f"'{scored.path}' is of the task {scored.task}, for whose predictions `tally score` reads predictions.h5 of a run, "
            "of answers also SQuAD's predictions.json, of detections COCO's results"
        )
    if asked is None and len(known) > 1:
        raise UsageError(f"say what the predictions are: --outputs {', '.join(known[:-1])} or {known[-1]}")
    if asked is not None and asked not in known:
        raise UsageError(f"--outputs {asked}: predictions for {scored.task} are {', '.join(known)}")
    return asked or known[0]


@dataclass
class PredictionRule:
    """Checks and converts pieces of values; num_rounded: how many are no float32, and were rounded."""

    table: PredictionTable
    scored: ScoredSet
    outputs: str
    source: str
    num_rounded: int = 0

    def __post_init__(self) -> None:
        self._order = self._order_by_class()
        self._numbers = _numbers_of_names(self.scored) if self._has_one_class else {}

    @property
    def says_outputs(self) -> bool:
        """Whether predictions for the task may be of several kinds."""
        return len(_OF_TASK[self.scored.task]) > 1

    @property
    def column(self) -> str:
        """In predictions.h5."""
        if self.outputs in (CLASSES, VALUES):
            return "prediction"
        return PROBABILITIES if self.outputs == PROBABILITIES else LOGITS

    @property
    def dtype(self) -> str:
        """That of the run that would have saved them."""
        if self.outputs != CLASSES:
            return "float32"
        if self._has_one_class:
            return "int64"
        if self.scored.task == "multilabel":
            return "uint8"
        return "uint8" if self.scored.num_classes <= _MOST_BYTE_CLASSES else "int32"

    @property
    def _has_one_class(self) -> bool:
        """Of a row, so that it may be given by its name."""
        return self.outputs == CLASSES and self.scored.task in ("binary", "multiclass")

    def convert(self, values: np.ndarray, first_row: int) -> np.ndarray:
        """Rows [n, ...] as they are stored. Raises DataError that names the first row that is wrong."""
        if self._order is not None:
            values = values[:, self._order]
        values = self._shaped(values)
        return self._classes(values, first_row) if self.outputs == CLASSES else self._floats(values, first_row)

    def _order_by_class(self) -> np.ndarray | None:
        """Columns whose names are those of the classes, but for upper and lower case, are put into their order."""
        names, columns = ([name.casefold() for name in those] for those in (self.scored.class_names, self.table.columns))
        if not self.table.has_names or not set(columns) & set(names):
            return None
        if len(columns) == 1:
            self._check_single(columns[0])
            return None
        if sorted(columns) != sorted(names) or len(set(names)) != len(names):
            raise DataError(
                f"'{self.source}' has columns with names of classes, but not those of '{self.scored.path}' once each: "
                f"{', '.join(self.table.columns[:10])}"
            )
        return np.array([columns.index(name) for name in names])

    def _check_single(self, column: str) -> None:
        """One score of a row is of class 1 of two, and its column must not have the name of class 0."""
        names = [name.casefold() for name in self.scored.class_names]
        if self.scored.task == "binary" and self.outputs != CLASSES and names[1:] != [column]:
            raise DataError(
                f"'{self.source}' has the single column '{self.table.columns[0]}', which is the name of class {names.index(column)}; "
                "expected scores of class 1, or of both classes"
            )

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        scored, task, shape = self.scored, self.scored.task, values.shape[1:]
        num_classes = scored.num_classes
        if task == "segmentation" or len(scored.label_shape) == 2:  # masks, maps
            expected = [scored.label_shape]
        elif self._has_one_class:
            expected = [(), (1,)]
        elif task == "binary":
            expected = [(), (1,), (2,)]
        else:
            expected = [(num_classes,), *([()] if num_classes == 1 else [])]
        if shape not in expected:
            said = " or ".join(f"[N{''.join(f', {size}' for size in one)}]" for one in expected)
            raise DataError(f"'{self.source}' is {_form(shape)}, expected {said}: {self.outputs} for {task} of '{scored.path}'")
        if task == "multilabel":
            return values.reshape(len(values), num_classes)
        return values.reshape(len(values)) if shape == (1,) and () in expected else values

    def _floats(self, values: np.ndarray, first_row: int) -> np.ndarray:
        is_text = values.dtype.kind == "U"
        if is_text:
            values = self._parsed(values, first_row)
        with np.errstate(over="ignore"):
            stored = values.astype(np.float32)
        # A score of -Inf stands for a class that cannot be; the program takes it, too.
        bad = np.isnan(stored) | (stored == np.inf)
        if self.outputs not in (LOGITS, LOG_PROBABILITIES):
            bad |= stored == -np.inf
        bad |= np.isinf(stored) & np.isfinite(values)
        self._refuse(values, bad, first_row, "expected finite numbers of 32 bits")
        if self.outputs == PROBABILITIES:
            self._refuse(values, (stored < 0) | (stored > 1), first_row, "expected probabilities, 0 to 1")
        if self.outputs == LOG_PROBABILITIES:
            self._refuse(values, stored > 0, first_row, "expected log-probabilities, at most 0")
        if not is_text:  # decimal digits are no other numbers
            self.num_rounded += int(np.count_nonzero(stored != values))
        return stored

    def _classes(self, values: np.ndarray, first_row: int) -> np.ndarray:
        last = 1 if self.scored.task == "multilabel" else self.scored.num_classes - 1
        is_text, given = values.dtype.kind == "U", values
        if is_text and self._numbers:
            values = self._numbered(values, first_row)
        if is_text:
            values = self._parsed(values, first_row)
        numbers = np.where(np.isfinite(values), values, -1)
        numbers = np.where(numbers == np.floor(numbers), numbers, -1)
        self._refuse(given, (numbers < 0) | (numbers > last), first_row, f"expected 0..{last}")
        return numbers.astype(self.dtype)

    def _numbered(self, texts: np.ndarray, first_row: int) -> np.ndarray:
        """Names of classes become their numbers, as texts."""
        said = [self._numbers.get(text, text) for text in texts.tolist()]
        self._refuse(texts, np.array([text is None for text in said]), first_row,
                     "which is the name of one class and the number of another; write numbers in a .npy file")  # fmt: skip
        is_unknown = np.array([not _is_number(str(text)) for text in said])
        self._refuse(texts, is_unknown, first_row, f"expected a class of '{self.scored.path}', its name or its number")
        return np.array(said, str)

    def _parsed(self, values: np.ndarray, first_row: int) -> np.ndarray:
        try:
            return values.astype(np.float64)
        except ValueError:
            bad = np.array([not _is_number(text) for text in values.ravel().tolist()]).reshape(values.shape)
            self._refuse(values, bad, first_row, "expected numbers")
            raise

    def _refuse(self, values: np.ndarray, bad: np.ndarray, first_row: int, expected: str) -> None:
        """Names the first of the bad ones, if there are any."""
        if not bad.any():
            return
        at = tuple(map(int, np.unravel_index(np.argmax(bad), bad.shape)))
        inside = f", value [{', '.join(map(str, at[1:]))}]" if len(at) > 1 else ""
        place = self.table.place_of(first_row + at[0])
        raise DataError(f"'{self.source}', {place}{inside}: {str(values[at])[:64]!r}, {expected}".replace("'nan'", "NaN"))


def _numbers_of_names(scored: ScoredSet) -> dict[str, str | None]:
    """The numbers of the classes by their names; None where a name may as well be the number of another class."""
    found: dict[str, str | None] = {}
    for number, name in enumerate(scored.class_names):
        is_other = name.isdecimal() and int(name) < scored.num_classes and int(name) != number
        found[name] = None if is_other or name in found else str(number)
    return found


def _form(shape: tuple[int, ...]) -> str:
    return f"[N{''.join(f', {size}' for size in shape)}]"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
