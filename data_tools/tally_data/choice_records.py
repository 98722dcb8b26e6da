# SPDX-License-Identifier: Apache-2.0
"""Questions with choices, from the fields of records, as pairs of texts for models that score all choices at once."""

from argparse import Namespace
from collections.abc import Sequence
from typing import Any, NamedTuple

from .class_numbers import number_of
from .errors import DataError, UsageError
from .json_form import JsonForm
from .records import Records

NO_CHOICE = -1  # where nothing says which choice is right
_WITHOUT_LABEL = (None, "", "-")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Question(NamedTuple):
    """place: where it stands in the file; choices: the second text of each pair, whose other one is `first`."""

    place: str
    first: str
    choices: list[str]
    gold: int


class ChoiceReader:
    """args: the options of prepare_multiple_choice.py."""

    def __init__(self, args: Namespace, records: Records, form: JsonForm) -> None:
        self._args, self._records, self._form = args, records, form

    def read(self) -> list[Question]:
        """All with the same number of choices, of at least one it is known which is right."""
        questions: list[Question] = []
        for place, row in self._records.rows:
            questions.append(self._question(row, place, questions[0] if questions else None))
        if all(question.gold == NO_CHOICE for question in questions):
            raise DataError(f"'{self._records.path}' has no row with a label: there is nothing to score")
        return questions

    def _question(self, row: Any, place: str, before: Question | None) -> Question:
        """before: one that must have as many choices."""
        if not isinstance(row, dict):
            raise self._form.wrong(place, "is no object")
        if self._args.id_field is not None:
            self._value(row, place, self._args.id_field)  # must be there
        first, *second = [self._text(self._value(row, place, name), place, name) for name in self._args.text_fields]
        choices = [self._pair(second, choice) for choice in self._choices(row, place)]
        number = len(choices)
        fits = number == len(before.choices) if before else number >= 2
        if not fits:
            expected = f"{len(before.choices)} as {before.place}" if before else "2 or more"
            raise self._form.wrong(place, f"has {number} choice{'s' * (number != 1)}, expected {expected}")
        return Question(place, first, choices, self._gold(row, place, number))

    def _value(self, row: dict[str, Any], place: str, name: str) -> Any:
        """Of the field of that name, else of one inside an object: `choices.text`."""
        found: Any = row
        rest = name
        while rest not in found:
            outer, _, rest = rest.partition(".")
            found = found.get(outer)
            if not rest or not isinstance(found, dict):
                known = ", ".join(map(str, row))
                raise UsageError(
                    f"'{self._records.path}', {place}, has no field '{name}'; it has {known} "
                    "(--text-fields, --choice-fields, --label-field, --id-field)"
                )
        return found[rest]

    def _text(self, value: Any, place: str, name: str) -> str:
        if not isinstance(value, str):
            raise self._form.wrong(place, f"has no '{name}' that is text")
        return self._form.plain_text(value, place, name)

    def _choices(self, row: dict[str, Any], place: str) -> list[str]:
        fields = self._args.choice_fields
        values = [(name, self._value(row, place, name)) for name in fields]
        if len(values) == 1:
            if not isinstance(values[0][1], list):
                raise self._form.wrong(place, f"has no '{fields[0]}' that is a list")
            values = list(self._form.items(values[0][1], fields[0]))
        return [self._text(value, place, name) for name, value in values]

    def _pair(self, second: Sequence[str], choice: str) -> str:
        """As run_swag.py of transformers joins them; in place of a blank as its run_multiple_choice.py did for RACE."""
        if not second:
            return choice
        blank = self._args.blank
        return second[0].replace(blank, choice) if blank and blank in second[0] else f"{second[0]} {choice}"

    def _gold(self, row: dict[str, Any], place: str, num_choices: int) -> int:
        key = self._args.label_field
        value = self._value(row, place, key)
        number = number_of(value)
        if value in _WITHOUT_LABEL or number == NO_CHOICE:
            return NO_CHOICE
        if number is not None:
            place_of_choice = number - self._args.first_label
        elif isinstance(value, str) and value.strip().upper() in tuple(_LETTERS):
            place_of_choice = _LETTERS.index(value.strip().upper())
        else:
            raise self._form.wrong(place, f"has no '{key}' that is the number or the letter of a choice")
        if not 0 <= place_of_choice < num_choices:
            least, letters = self._args.first_label, f"A..{_LETTERS[min(num_choices, len(_LETTERS)) - 1]}"
            raise self._form.wrong(
                place, f"has {key} = {value}, expected {least}..{least + num_choices - 1} or {letters} (--first-label)"
            )
        return place_of_choice
