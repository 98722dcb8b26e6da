"""Figures that are kept as they are measured, so that a run of several hours can be stopped and continued."""

import contextlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

Rounds = dict[str, list[dict[str, float]]]  # by contender


class Measured:
    """Lines of `file`: what was measured, where, and its rounds. Without a file nothing is kept."""

    def __init__(self, file: Path | None = None, facts: dict[str, str] | None = None) -> None:
        self._file, self._facts = file, facts or {}
        self.days = {self._facts.get("date", "")}  # on which anything was measured
        self._known: dict[tuple[str, ...], Rounds] = {}
        if file is not None and file.exists():
            for text in file.read_text().splitlines():
                with contextlib.suppress(json.JSONDecodeError):  # a run ended while it wrote this one
                    line = json.loads(text)
                    if self._same_machine(line["machine"]):
                        self._known[tuple(line["what"])] = line["rounds"]
                        self.days.add(line["machine"].get("date", ""))

    def get_or_run(self, what: Sequence[str], measure: Callable[[], Rounds]) -> Rounds:
        if tuple(what) not in self._known:
            self._known[tuple(what)] = rounds = measure()
            if self._file is not None:
                line = {"what": list(what), "machine": self._facts, "rounds": rounds}
                with self._file.open("a") as file:
                    file.write(json.dumps(line) + "\n")
        return self._known[tuple(what)]

    def _same_machine(self, facts: dict[str, str]) -> bool:
        """And the same programs: all but the day."""
        return all(facts.get(name) == text for name, text in self._facts.items() if name != "date")
