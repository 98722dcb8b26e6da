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


def write_into(documents: list[Path], tables: list[Table], head: str) -> None:
    """Puts each table, under `head`, between its marks in the document that has them."""
    for table in tables:
        found = [document for document in documents if has_place(document.read_text(), table.name)]
        if documents and not found:
            print(f"no document has marks for the table {table.name}", file=sys.stderr)
        for document in found:
            begin, end = marks(table.name)
            before, rest = document.read_text().split(begin, 1)
            after = rest.split(end, 1)[1]
            document.write_text(f"{before}{begin}{head}\n\n{table.grid()}{end}{after}")
