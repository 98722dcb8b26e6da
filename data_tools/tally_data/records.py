# SPDX-License-Identifier: Apache-2.0
"""Records with named values, from a table (CSV, TSV), JSON lines, parquet files or a Hugging Face data set's folder."""

import csv
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .arrow_records import Wanted, arrow_folder, parquet_file
from .errors import DataError, UsageError, reading
from .json_form import JsonForm, parse_json_lines
from .options import ToolParser
from .text_column import printable

TABLES = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
JSON_LINES = (".jsonl", ".ndjson", ".json")
ID_FIELDS = ("id", "idx", "guid", "pairID", "index")
_MOST_CHARACTERS = 2**31 - 1  # of a value in a table


@dataclass(frozen=True)
class Records:
    """rows: a place for messages ("line 3") and the values; class_names: of fields whose type names their classes."""

    path: Path
    rows: list[tuple[str, Any]]
    class_names: dict[str, list[str]] = field(default_factory=dict)


def add_record_options(parser: ToolParser, what: str) -> None:
    parser.add_argument("--input", type=Path, required=True, metavar="PATH", help=what)
    parser.add_argument("--split", metavar="NAME", help="which part of a Hugging Face data set, such as validation")
    parser.add_argument(
        "--id-field", metavar="NAME", help=f"of the sample's name; default: the first of {', '.join(ID_FIELDS)}, else its place"
    )


def read_records(path: Path, split: str | None, has_header: bool = True, fields: Collection[str] | None = None) -> Records:
    """has_header: of a table, whether its first line names the fields; else they are 1, 2, …

    fields: of files of columns no others are read, but ID_FIELDS; None: all.
    """
    wanted = None if fields is None else Wanted(fields, ID_FIELDS)
    with reading(path):
        path.stat()
    if not has_header and (path.is_dir() or path.suffix not in TABLES):
        raise UsageError(f"--no-header is for tables ({', '.join(TABLES)}), and '{path}' is none")
    if path.is_dir():
        rows, names = arrow_folder(path, split, wanted)
        return _checked(Records(path, list(rows), names))
    if split is not None:
        raise UsageError("--split is for the folder of a Hugging Face data set")
    if path.suffix in TABLES:
        return _checked(Records(path, list(_table(path, TABLES[path.suffix], has_header))))
    if path.suffix == ".parquet":
        rows, names = parquet_file(path, wanted)
        return _checked(Records(path, list(rows), names))
    if path.suffix in JSON_LINES:
        return _checked(Records(path, list(parse_json_lines(path))))
    known = ", ".join((*TABLES, *JSON_LINES, ".parquet"))
    raise DataError(f"'{path}' has the ending '{path.suffix}', expected one of {known}, or a folder")


def names_of(records: Records, form: JsonForm, id_field: str | None) -> list[str]:
    """What the rows are called: by that field or the first of ID_FIELDS that they have, else by their places."""
    key = id_field or next((name for name in ID_FIELDS if name in records.rows[0][1]), None)
    if key is None:
        return [place for place, _ in records.rows]
    return [printable(form.identity(row, place, key, {})) for place, row in records.rows]


def _checked(records: Records) -> Records:
    if not records.rows:
        raise DataError(f"'{records.path}' holds no record")
    return records


def _table(path: Path, delimiter: str, has_header: bool) -> Iterator[tuple[str, dict[str, str]]]:
    """With tabs quotation marks are characters like others, as in GLUE's files."""
    csv.field_size_limit(_MOST_CHARACTERS)
    quoting = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    with reading(path), path.open(encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file, delimiter=delimiter, quoting=quoting, strict=True)
        fields: list[str] | None = None
        try:
            for line in lines:
                place = f"line {lines.line_num}"
                if not line:
                    continue
                if fields is None:
                    fields = line if has_header else [str(number) for number in range(1, len(line) + 1)]
                    _check_fields(path, fields)
                    if has_header:
                        continue
                if len(line) != len(fields):
                    raise DataError(f"'{path}', {place}, has {len(line)} values, expected {len(fields)} as in the first line")
                yield place, dict(zip(fields, line, strict=True))
        except csv.Error as error:
            raise DataError(f"'{path}', line {lines.line_num}, is not {_KINDS[delimiter]}: {error}") from error
        except UnicodeDecodeError as error:
            raise DataError(f"'{path}' is not text in UTF-8") from error


_KINDS = {",": "CSV", "\t": "TSV"}


def _check_fields(path: Path, fields: list[str]) -> None:
    twice = next((name for at, name in enumerate(fields) if name in fields[:at]), None)
    if twice is not None:
        raise DataError(f"'{path}' has two fields '{twice}' in its first line; without a header give --no-header")
