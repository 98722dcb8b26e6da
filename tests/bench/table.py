# SPDX-License-Identifier: Apache-2.0
"""A table as it is printed."""

from dataclasses import dataclass, field


@dataclass
class Table:
    name: str
    title: str
    columns: list[str]
    rows: list[list[object]] = field(default_factory=list)

    def markdown(self) -> str:
        return f"## {self.title}\n\n{self.grid()}"

    def grid(self) -> str:
        lines = ["| " + " | ".join(self.columns) + " |", "|---" * len(self.columns) + "|"]
        return "\n".join(lines + ["| " + " | ".join(map(_text, row)) + " |" for row in self.rows]) + "\n"


def _text(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
