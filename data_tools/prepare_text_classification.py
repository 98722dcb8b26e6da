#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes labelled texts, or pairs of texts, as a Tally data set: GLUE's tasks, sentiment, topics, toxicity, similarity.

--input is a table (.csv, .tsv), JSON lines (.jsonl, .ndjson, .json), a .parquet file, or the folder of a Hugging Face
data set (with --split where it has several parts); the last two need pyarrow. --tokenizer is the model's tokenizer.json,
or the folder that transformers loads its tokenizer from. Rows are those of transformers with truncation=True.

Labels are numbers or names. Names become the numbers that the model knows them by: its config.json says them (--like),
or a file does (--class-names). Where the data set names its numbers, they are renumbered by name in the same way. A
row whose label is -1, - or missing is read and run, but not scored.
"""

import argparse
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tally_data.atomic import check_output
from tally_data.class_numbers import add_class_options
from tally_data.errors import DataError, UsageError, run_tool
from tally_data.json_form import JsonForm
from tally_data.model_config import folder_of
from tally_data.options import ToolParser, add_output_options, positive
from tally_data.progress import progress_bar
from tally_data.records import Records, add_record_options, names_of, read_records
from tally_data.sequence_columns import SequenceColumns
from tally_data.sequence_tokenizer import Row, SequenceTokenizer
from tally_data.text_targets import TASKS, TargetReader, Targets
from tally_data.writer import DataSetWriter

ROWS_PER_PIECE = 1024


class Texts(NamedTuple):
    """pairs: the second text of each row, where rows are pairs; names: what each row is called."""

    texts: list[str]
    pairs: list[str] | None
    names: list[str]


def check_fields(records: Records, form: JsonForm, fields: list[str]) -> None:
    for place, row in records.rows:
        if not isinstance(row, dict):
            raise form.wrong(place, "is no object")
        for name in fields:
            if name not in row:
                known = ", ".join(map(str, row))
                raise UsageError(
                    f"'{records.path}', {place}, has no field '{name}'; it has {known} (--text-fields, --label-field)"
                )


def read_texts(records: Records, form: JsonForm, fields: list[str], id_field: str | None) -> Texts:
    columns = [[form.text(row, place, name) for place, row in records.rows] for name in fields]
    return Texts(columns[0], columns[1] if len(columns) > 1 else None, names_of(records, form, id_field))


def read_rows(texts: Texts, records: Records, tokenizer: SequenceTokenizer) -> list[Row]:
    rows = []
    with progress_bar(len(texts.texts), "text", records.path.name) as bar:
        for row in tokenizer.rows(texts.texts, texts.pairs):
            if len(row.inputs["input_ids"]) == 0:
                raise DataError(f"'{records.path}', {records.rows[len(rows)][0]}: the text holds no token")
            rows.append(row)
            bar.update()
    return rows


def write_text_set(
    args: argparse.Namespace, targets: Targets, rows: list[Row], names: list[str], tokenizer: SequenceTokenizer
) -> int:
    """Returns how many tokens the longest row has."""
    longest = max(len(row.inputs["input_ids"]) for row in rows)
    with DataSetWriter(
        args.output, task=args.task, num_classes=targets.num_classes, num_samples=len(rows), class_names=targets.class_names,
        ignore_index=targets.ignore_index, overwrite=args.overwrite,
    ) as out:  # fmt: skip
        columns, remaining = SequenceColumns(out, len(rows), longest, tokenizer.paddings), iter(rows)
        out.add_target("label", targets.values)
        out.add_names(names)
        while piece := list(islice(remaining, ROWS_PER_PIECE)):
            columns.append([row.inputs for row in piece])
    return longest


def make_parser() -> argparse.ArgumentParser:
    parser = ToolParser(__doc__)
    add_record_options(parser, "a table, JSON lines, a parquet file or a folder")
    parser.add_argument("--no-header", action="store_true", help="the first line of the table is a row: fields are 1, 2, …")
    parser.add_argument("--tokenizer", type=Path, metavar="PATH", help="tokenizer.json or a folder; default: that of --like")
    parser.add_argument(
        "--text-fields", default="text", metavar="NAME[,NAME]", help="of the text, or of both texts, default %(default)s"
    )
    parser.add_argument(
        "--label-field", default="label", metavar="NAME[,NAME...]",
        help="default %(default)s; several where each label or value has a field of its own",
    )  # fmt: skip
    parser.add_argument("--task", choices=TASKS, default="multiclass", help="default %(default)s")
    add_class_options(parser)
    parser.add_argument(
        "--label-separator", metavar="TEXT", help="between the labels of a text in a table, default a comma"
    )
    parser.add_argument("--label-flags", action="store_true", help="the labels of a text are 0 or 1 for each class")
    parser.add_argument(
        "--max-length", type=positive, metavar="N", help="tokens of a row; default: as many as the tokenizer says"
    )
    add_output_options(parser, "the data set file (.h5)")
    return parser


def read_options() -> argparse.Namespace:
    args = make_parser().parse_args()
    if args.tokenizer is None and args.like is None:
        raise UsageError("--tokenizer is missing; see --help")
    args.tokenizer = args.tokenizer or folder_of(args.like)
    args.text_fields, args.label_field = args.text_fields.split(","), args.label_field.split(",")
    if len(args.text_fields) > 2:
        raise UsageError(f"--text-fields names {len(args.text_fields)} fields, expected one or two")
    if args.task != "multilabel" and args.label_flags:
        raise UsageError("--label-flags is for --task multilabel")
    if args.label_separator == "":
        raise UsageError("--label-separator is empty, expected the text that stands between two labels")
    if args.label_separator and (args.task != "multilabel" or args.label_flags or len(args.label_field) > 1):
        raise UsageError("--label-separator is for --task multilabel with one field that lists the labels")
    return args


def main() -> None:
    args = read_options()
    check_output(args.output, args.overwrite)
    fields = [*args.text_fields, *args.label_field, *([args.id_field] if args.id_field else [])]
    records = read_records(args.input, args.split, not args.no_header, fields)
    form = JsonForm(args.input, "the form of labelled texts")
    check_fields(records, form, fields)
    texts = read_texts(records, form, args.text_fields, args.id_field)
    targets = TargetReader(args, records, form, args.label_field).read()
    tokenizer = SequenceTokenizer(args.tokenizer, args.max_length)
    rows = read_rows(texts, records, tokenizer)
    longest = write_text_set(args, targets, rows, texts.names, tokenizer)
    if num_cut := sum(row.is_cut for row in rows):
        print(f"note: {num_cut} of {len(rows)} rows were longer than {tokenizer.max_length} tokens and are cut")
    if targets.num_ignored:
        print(f"note: {targets.num_ignored} of {len(rows)} rows have no label and are not scored")
    print(
        f"wrote {args.output}: {len(rows)} {'texts' if texts.pairs is None else 'pairs of texts'} of up to {longest} tokens, "
        f"{args.task} of {targets.num_classes}, {args.output.stat().st_size / 1e6:.1f} MB"
    )


if __name__ == "__main__":
    run_tool("prepare_text_classification", main)
