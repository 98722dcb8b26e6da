# SPDX-License-Identifier: Apache-2.0
"""Figures that are kept as they are measured, so that a run of several hours can be stopped and continued."""

import contextlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

Rounds = dict[str, list[dict[str, float]]]  # by contender


class Measured:
    """Lines of `file`: what was measured, where, and its rounds. Without a file nothing is kept.

    Lines of another machine, or of other programs, are not used.
    """

    def __init__(self, file: Path | None = None, facts: dict[str, str] | None = None) -> None:
        self._file, self._facts = file, facts or {}
        self._known: dict[tuple[str, ...], tuple[Rounds, str]] = {}
        self.begin_table()
        if file is not None and file.exists():
            for text in file.read_text().splitlines():
                with contextlib.suppress(json.JSONDecodeError):  # a run ended while it wrote this line
                    line = json.loads(text)
                    if self._fits(line["machine"]):
                        self._known[tuple(line["what"])] = (line["rounds"], line["machine"]["date"])

    def begin_table(self) -> None:
        self._days: set[str] = set()

    def get_or_run(self, what: Sequence[str], measure: Callable[[], Rounds]) -> Rounds:
        if tuple(what) not in self._known:
            self._known[tuple(what)] = (measure(), self._today)
            self._keep(what)
        rounds, day = self._known[tuple(what)]
        self._days.add(day)
        return rounds

    @property
    def days(self) -> set[str]:
        """Of the rows that were asked for since the table began; today where none was."""
        return self._days or {self._today}

    @property
    def _today(self) -> str:
        return self._facts.get("date", "")

    def _keep(self, what: Sequence[str]) -> None:
        if self._file is None:
            return
        line = {"what": list(what), "machine": self._facts, "rounds": self._known[tuple(what)][0]}
        with self._file.open("a") as file:
            file.write("\n" + json.dumps(line))  # first: the last line may be half a one

    def _fits(self, facts: dict[str, str]) -> bool:
        """All but the day."""
        return all(facts.get(name) == text for name, text in self._facts.items() if name != "date")
