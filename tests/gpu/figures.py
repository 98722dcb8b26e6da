#!/usr/bin/env python3
"""Prints what contact.sh found, and with --document writes it between the marks of a document."""

import argparse
import json
from pathlib import Path

from recording import text_of

BEGIN, END = "<!-- GPU figures -->\n", "<!-- end of GPU figures -->\n"
COLUMNS = ("startup_s", "wall_s")
OTHER_FACTS = ("figure", "value", "unit", "form", "state", *COLUMNS)


def value_of(line: dict) -> str:
    value = line["value"]
    if not isinstance(value, float):
        return str(value).strip("{}").replace("'", "")
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def table_of(lines: list[dict]) -> str:
    rows = ["| | | | start-up, s | whole command, s | |", "|---|---|---|---|---|---|"]
    for line in lines:
        facts = ", ".join(f"{name} {fact}" for name, fact in line.items() if name not in OTHER_FACTS)
        cells = [line["figure"], value_of(line), line["unit"], *(str(line.get(name, "")) for name in COLUMNS), facts]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("figures", type=Path, help="figures.jsonl")
    parser.add_argument("--document", type=Path, help="a Markdown file with the marks")
    options = parser.parse_args()
    lines = [json.loads(line) for line in options.figures.read_text().splitlines()]
    if options.document:
        before, rest = options.document.read_text().split(BEGIN)
        after = rest.split(END)[1]
        table = table_of([line for line in lines if "figure" in line])
        options.document.write_text(before + BEGIN + table + END + after)
        return
    for line in lines:
        print(text_of(line) if "figure" in line else f"{line['step']:52} {line['state']} in {line['seconds']} s")


if __name__ == "__main__":
    main()
