# SPDX-License-Identifier: Apache-2.0
"""What the benches keep and write: measured rows that a later run goes on from, and tables in a document."""

import json
from pathlib import Path

from document import has_place, write_into
from measured import Measured
from table import Table

HERE = {"date": "2026-11-24", "processor": "a", "digest": "1"}
ROUNDS = {"Tally": [{"per_s": 2.0}]}


def measured(file: Path, **facts: str) -> tuple[Measured, list[str]]:
    """Rows of `file` for a machine, and the names of those that are measured from now on."""
    return Measured(file, HERE | facts), []


def ask(rows: Measured, ran: list[str], name: str) -> None:
    def measure() -> dict:
        ran.append(name)
        return ROUNDS

    assert rows.get_or_run([name, "fp32"], measure) == ROUNDS


def test_a_row_is_measured_once(tmp_path: Path) -> None:
    file = tmp_path / "measured.jsonl"
    rows, ran = measured(file)
    ask(rows, ran, "one")
    ask(rows, ran, "one")
    assert ran == ["one"]
    later, ran = measured(file, date="2026-11-25")
    ask(later, ran, "one")
    ask(later, ran, "two")
    assert ran == ["two"]
    assert later.days == {"2026-11-24", "2026-11-25"}
    later.begin_table()
    assert later.days == {"2026-11-25"}
    ask(later, ran, "one")
    assert later.days == {"2026-11-24"}


def test_rows_of_other_machines_and_programs_are_measured_again(tmp_path: Path) -> None:
    file = tmp_path / "measured.jsonl"
    ask(*measured(file), "one")
    for facts in ({"processor": "b"}, {"digest": "2"}, {"new": "fact"}):
        rows, ran = measured(file, **facts)
        ask(rows, ran, "one")
        assert ran == ["one"], facts


def test_half_a_line_is_measured_again(tmp_path: Path) -> None:
    file = tmp_path / "measured.jsonl"
    ask(*measured(file), "one")
    ask(*measured(file), "two")
    file.write_text(file.read_text()[:-9])
    rows, ran = measured(file)
    ask(rows, ran, "one")
    ask(rows, ran, "two")
    assert ran == ["two"]
    last, ran = measured(file)
    ask(last, ran, "two")
    assert ran == []
    assert [json.loads(line)["what"][0] for line in file.read_text().splitlines()[-1:]] == ["two"]


def test_tables_take_the_place_of_those_before(tmp_path: Path) -> None:
    document = tmp_path / "doc.md"
    document.write_text("before\n<!-- a -->\nold\n<!-- end of a -->\nafter\n")
    assert has_place(document.read_text(), "a")
    assert not has_place(document.read_text(), "b")
    assert not has_place("<!-- end of a -->\n<!-- a -->\n", "a")
    other = tmp_path / "other.md"
    other.write_text("<!-- c -->\n<!-- end of c -->\n")
    table = Table("a", "A", ["x", "y"], [["one", 12345.6], ["two", 1.23456]])
    for _ in range(2):
        write_into([document, other], [table, Table("without a place", "B", ["x"]), Table("c", "C", ["z"])], "head")
    assert document.read_text() == (
        "before\n<!-- a -->\nhead\n\n| x | y |\n|---|---|\n| one | 12,346 |\n| two | 1.235 |\n"
        "<!-- end of a -->\nafter\n"
    )
    assert other.read_text() == "<!-- c -->\nhead\n\n| z |\n|---|\n<!-- end of c -->\n"
