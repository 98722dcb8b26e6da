#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what contact.sh found, and with --document writes it into a document: a table for each kind of GPU."""

import argparse
import json
import sys
from pathlib import Path

from recording import text_of

NEXT = "<!-- the next kind of GPU -->\n"  # a table that is not there yet goes before it
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


def with_table(text: str, figures: list[dict]) -> str:
    """Without one that was there of the same GPU."""
    gpus = {line["value"] for line in figures if line["figure"] == "GPU"}
    if len(gpus) != 1:
        sys.exit(f"the figures are of {len(gpus)} kinds of GPU: they must be of one (contact.sh's part 'machine' says which)")
    gpu = gpus.pop()
    begin, end = f"<!-- figures of {gpu} -->\n", f"<!-- end of figures of {gpu} -->\n"
    if begin not in text and NEXT not in text:
        sys.exit(f"the document has no line {NEXT.strip()}")
    if begin not in text:
        text = text.replace(NEXT, f"{begin}{end}\n{NEXT}", 1)
    before, rest = text.split(begin)
    after = rest.split(end)[1]
    return f"{before}{begin}{table_of(figures)}{end}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("figures", type=Path, help="figures.jsonl")
    parser.add_argument("--document", type=Path, help="a Markdown file with the marks")
    options = parser.parse_args()
    lines = [json.loads(line) for line in options.figures.read_text().splitlines()]
    if options.document:
        text = with_table(options.document.read_text(), [line for line in lines if "figure" in line])
        options.document.write_text(text)
        return
    for line in lines:
        print(text_of(line) if "figure" in line else f"{line['step']:52} {line['state']} in {line['seconds']} s")


if __name__ == "__main__":
    main()
