# SPDX-License-Identifier: Apache-2.0
"""Tables in a document, between marks of their names."""

import sys
from pathlib import Path

from table import Table


def marks(name: str) -> tuple[str, str]:
    """Between which a document has a table."""
    return f"<!-- {name} -->\n", f"<!-- end of {name} -->"


def has_place(document: str, name: str) -> bool:
    begin, end = marks(name)
    return begin in document and end in document.split(begin, 1)[1]


def write_into(document: Path, tables: list[Table], head: str) -> None:
    """Puts each table that has a place in the document, under `head`, between its marks."""
    text = document.read_text()
    for table in tables:
        if not has_place(text, table.name):
            print(f"{document} has no marks for the table {table.name}", file=sys.stderr)
            continue
        begin, end = marks(table.name)
        before, rest = text.split(begin, 1)
        after = rest.split(end, 1)[1]
        text = f"{before}{begin}{head}\n\n{table.grid()}{end}{after}"
    document.write_text(text)
