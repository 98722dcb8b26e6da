# SPDX-License-Identifier: Apache-2.0
"""The file of figures: one JSON object a line, added as soon as it is known."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


class Figures:
    """Those whose names `wanted` finds are measured."""

    def __init__(self, path: Path, wanted: str = "") -> None:
        self._path = path
        self._wanted = re.compile(wanted)
        self.num_failed = 0

    def wants(self, name: str) -> bool:
        return self._wanted.search(name) is not None

    def add(self, name: str, value: float | str, unit: str = "", **facts: object) -> None:
        line = {"figure": name, "value": value, "unit": unit} | facts
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(text_of(line), flush=True)

    @contextmanager
    def or_failure(self, name: str) -> Iterator[None]:
        """A figure that cannot be had is a line too, and what follows goes on."""
        try:
            yield
        except Exception as error:
            self.num_failed += 1
            lines = str(error).strip().splitlines()
            self.add(name, f"failed: {type(error).__name__}: {lines[-1] if lines else ''}"[:300])

    def attempt(self, name: str, measure: Callable[[], float | str], unit: str = "") -> None:
        if self.wants(name):
            with self.or_failure(name):
                self.add(name, measure(), unit)


def text_of(line: dict) -> str:
    """A figure in one line."""
    value = line["value"]
    words = [f"{line['figure']:52}", f"{value:10.4g}" if isinstance(value, float) else str(value), line["unit"]]
    words += [f"{name}={value}" for name, value in line.items() if name not in ("figure", "value", "unit")]
    return " ".join(words)
