#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes predictions that another program made as a predictions.h5, which `tally score` takes.

--input is an array of numpy (.npy, or .npz with one array of values, or --columns NAME), a CSV (.csv, .tsv; the first
line names the columns) or a parquet file (with pyarrow). --data is the data set that was predicted. A row holds

    multiclass            scores of the C classes
    binary                a score of class 1, or scores of the classes 0 and 1
    multilabel            scores of the C labels
    regression            C values, or a map of the size of the data set's labels
    segmentation          a mask of the size of the data set's labels: the class of each pixel

or, with --outputs classes, only what is predicted: the class of multiclass and binary, in texts also by its name in the data
set; 0 or 1 for each label of multilabel. Metrics that need scores cannot be computed of these.

--outputs says which scores they are, as for `tally score`. Columns that are named like the classes may stand in any order.

Rows are in the data set's order, or say which sample they are of: by a column (of .npz an array) `index`, or `name`, which
is looked for among the data set's /samples/name. Each sample must be there exactly once. NaN and infinities are refused,
but -Inf as a logit or log-probability. What is no float32 is rounded, and counted in a note.
"""

import argparse
from pathlib import Path

import numpy as np

from tally_data.atomic import check_output
from tally_data.csv_table import CsvTable
from tally_data.errors import DataError, UsageError, reading, run_tool
from tally_data.options import ToolParser, add_output_options
from tally_data.parquet_table import ParquetTable
from tally_data.prediction_file import PredictionFile
from tally_data.prediction_order import MATCHES, sample_places
from tally_data.prediction_tables import NumpyTable, PredictionTable
from tally_data.prediction_values import OUTPUTS, PredictionRule, outputs_of
from tally_data.progress import progress_bar
from tally_data.scored_set import ScoredSet, read_scored_set


def open_table(args: argparse.Namespace) -> PredictionTable:
    """By the end of the name of args.input."""
    path: Path = args.input
    with reading(path):
        path.stat()
    suffix = path.suffix.lower()
    if args.no_header and suffix not in (".csv", ".tsv"):
        raise UsageError("--no-header is for CSV")
    if suffix == ".npy" and args.columns is not None:
        raise UsageError("--columns: a .npy file holds one array, which has no name")
    if suffix in (".npy", ".npz"):
        return NumpyTable(path, args.columns)
    if suffix in (".csv", ".tsv"):
        return CsvTable(path, "\t" if suffix == ".tsv" else ",", not args.no_header, args.columns)
    if suffix == ".parquet":
        return ParquetTable(path, args.columns)
    raise UsageError(f"'{path}' ends in none of .npy, .npz, .csv, .tsv and .parquet")


def require_rows(found: int, is_all: bool, source: Path, scored: ScoredSet) -> None:
    if found != scored.num_samples:
        raise DataError(
            f"'{source}' has {'' if is_all else 'at least '}{found} rows, data set '{scored.path}' has "
            f"{scored.num_samples} samples"
        )


def write_predictions(rule: PredictionRule, places: np.ndarray | None, args: argparse.Namespace) -> tuple[int, ...]:
    """Returns the shape of the column."""
    num_samples, done, column = rule.scored.num_samples, 0, None
    with (
        PredictionFile(args.output, overwrite=args.overwrite) as file,
        progress_bar(num_samples, "row", args.output.name) as bar,
    ):
        for piece in rule.table.pieces():
            if done + len(piece) > num_samples:
                require_rows(done + len(piece), False, args.input, rule.scored)
            rows = rule.convert(piece, done)
            if column is None:
                shape = rows.shape[1:]
                column = file.add_column(f"/{rule.column}", rule.dtype, num_samples, shape)
            if places is None:
                column.append(rows)
            else:
                column.place(rows, places[done : done + len(rows)])
            done += len(rows)
            bar.update(len(rows))
        require_rows(done, True, args.input, rule.scored)
        file.add_column("/index", "int64", num_samples).append(np.arange(num_samples))
        write_attributes(file, rule, args)
    return (num_samples, *shape)


def write_attributes(file: PredictionFile, rule: PredictionRule, args: argparse.Namespace) -> None:
    """No identity of the data set: the program compares it only where it is there."""
    file.set_attribute("task", rule.scored.task)
    file.set_attribute("data", str(args.data))
    file.set_attribute("model", str(args.input))
    if rule.says_outputs:
        file.set_attribute("outputs", rule.outputs)
    if rule.scored.num_classes:
        file.set_attribute("num_classes", str(rule.scored.num_classes))


def make_parser() -> argparse.ArgumentParser:
    parser = ToolParser(__doc__)
    parser.add_argument("--input", type=Path, required=True, metavar="FILE", help=".npy, .npz, .csv, .tsv or .parquet")
    parser.add_argument("--data", type=Path, required=True, metavar="FILE", help="the data set that was predicted")
    parser.add_argument("--outputs", choices=OUTPUTS, help="what the values are; needed but for regression and segmentation")
    parser.add_argument(
        "--columns", type=lambda text: text.split(","), metavar="NAME,...",
        help="those that hold the values, in order, of .npz the array; default: all but index and name",
    )  # fmt: skip
    parser.add_argument(
        "--match", choices=MATCHES, help="how rows find their sample; default: by the column that is there, else order"
    )
    parser.add_argument("--no-header", action="store_true", help="the first line of a CSV is a row; columns are 0, 1, …")
    add_output_options(parser, "the predictions.h5")
    return parser


def main() -> None:
    args = make_parser().parse_args()
    check_output(args.output, args.overwrite)
    scored = read_scored_set(args.data)
    outputs = outputs_of(args.outputs, scored)
    table = open_table(args)
    if table.num_rows is not None:
        require_rows(table.num_rows, True, args.input, scored)
    places = sample_places(table, scored, args.match, str(args.input))
    rule = PredictionRule(table, scored, outputs, str(args.input))
    shape = write_predictions(rule, places, args)
    if rule.num_rounded:
        print(f"note: {rule.num_rounded} values are no float32 and were rounded")
    size = args.output.stat().st_size / 1e6
    print(f"wrote {args.output}: {rule.column} [{', '.join(map(str, shape))}] for {scored.task}, {size:.1f} MB")


if __name__ == "__main__":
    run_tool("prepare_predictions", main)
