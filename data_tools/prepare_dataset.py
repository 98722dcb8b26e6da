#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a torch Dataset, a Hugging Face dataset or WebDataset's tars as a Tally data set.

--dataset is one of:

  data.py:function   or package.module:function: the function, called without arguments, returns a torch Dataset, or
                     anything with a length and items; an IterableDataset is read by one process. An item is (input,
                     target) or a dict, whose keys become names of inputs. Each worker process calls the function.
  FOLDER             that Dataset.save_to_disk or DatasetDict.save_to_disk wrote; or a folder of parquet files, or one file
  FILE.tar           of WebDataset, a folder of them, or a pattern such as 'val-{000..015}.tar': key.jpg, key.cls, key.json,
                     key.npy. The columns are the extensions; json:NAME is a field of key.json.

What is stored is found from the first item, and all others must have its form. Pillow's images, encoded ones and uint8
arrays [H, W, C] (tensors: [C, H, W]) are images, whose normalisation is a matter of the options and the model card; other
arrays, such as float tensors that a transform has normalised, are given to the model as they are. Python's own numbers
have no width: floats become float32, integers int64.

A target that is an integer means the task multiclass, a float or several regression, zeros and ones multilabel, an integer
for each pixel segmentation.

Rows are first written in parts, into OUTPUT.parts: after a run that was cut off, the same command goes on with them.
"""

import argparse
from pathlib import Path

import numpy as np

from tally_data import schema
from tally_data.class_order import read_class_names
from tally_data.errors import DataError, UsageError, run_tool
from tally_data.item_columns import ImageColumn
from tally_data.item_form import FormOptions, SetForm, find_form
from tally_data.item_set import ItemSet, write_item_set
from tally_data.items import ColumnChoice
from tally_data.encoding import IMAGENET
from tally_data.options import ToolParser, add_image_options, add_output_options, add_shards_option, positive
from tally_data.parallel import default_workers
from tally_data.preparation import IMAGENET_NOTE, add_geometry_options, find_recipe, preparation
from tally_data.shards import check_set_output, describe_files
from tally_data.sources import Source, SourceSpec, open_source

OF_IMAGES = ("like", "recipe", "resize", "crop", "crop_mode", "interpolation", "channels", "scale", "mean", "std")
GEOMETRY = ("like", "recipe", "resize", "crop")


def make_parser() -> argparse.ArgumentParser:
    parser = ToolParser(__doc__)
    parser.add_argument("--dataset", required=True, metavar="WHAT", help="a function, a folder, or tars: see above")
    parser.add_argument("--split", metavar="NAME", help="of a Hugging Face dataset that has several")
    parser.add_argument(
        "--input-column", "--input-key", nargs="+", metavar="NAME",
        help="default: all keys of a dict but the target's; of the others image, img, or an image's extension",
    )  # fmt: skip
    parser.add_argument("--target-column", "--target-key", metavar="NAME", help="default: label, labels or target; of tars cls")
    parser.add_argument(
        "--input-name", metavar="NAME", help="of an only input; default: its key, else image (float [C, H, W] too) or features"
    )
    parser.add_argument("--task", choices=tuple(schema.TASKS), help="default: by the first target; predict: without targets")
    parser.add_argument("--num-classes", type=positive, metavar="C", help="default: by names, or largest label + 1")
    parser.add_argument("--class-names", type=Path, metavar="FILE", help="a line per class; default: those the dataset knows")
    parser.add_argument("--ignore-index", type=int, metavar="I", help="targets of this value are not scored")
    parser.add_argument("--float32", action="store_true", help="round arrays of float64 to float32")
    add_geometry_options(parser)
    parser.add_argument("--workers", type=positive, default=default_workers(), metavar="N", help="default: %(default)s cores")
    parser.add_argument("--part-rows", type=positive, metavar="N", help="rows of a part, default: some 256 MB")
    add_output_options(parser, "the data set file (.h5), or NAME.shards.json")
    add_shards_option(parser)
    add_image_options(parser, IMAGENET)
    return parser


def form_of(source: Source, args: argparse.Namespace) -> SetForm:
    """As the first item has it. Raises UsageError for options that would change nothing."""
    recipe = find_recipe(args)
    encoding, rule = preparation(args, recipe)
    names = read_class_names(args.class_names) if args.class_names else None
    options = FormOptions(
        args.task, args.input_name, args.num_classes, names, args.ignore_index, args.float32, encoding, rule
    )
    first = None if source.num_items == 0 else next(iter(source.read(0, 1)), None)
    if first is None:
        raise DataError(f"'{args.dataset}' has no items")
    form = find_form(first, options, source.class_names, source.renames_image)
    schema.check_ignore_index(args.ignore_index, schema.find_task(form.task), form.num_classes)
    has_images = any(isinstance(column, ImageColumn) for column in form.inputs)
    if not has_images and (unused := [name for name in OF_IMAGES if getattr(args, name) is not None]):
        raise UsageError(f"--{unused[0].replace('_', '-')} is for images, and no input of the first item is one")
    if form.task == "segmentation" and any(getattr(args, name) is not None for name in GEOMETRY):
        raise UsageError("images of a segmentation cannot be resized here, as their masks would not be: do it in the dataset")
    if has_images and recipe is None and args.mean is None and args.std is None:
        print(IMAGENET_NOTE)
    return form


def note_random_items(source: Source, form: SetForm) -> None:
    """Augmentation that was left switched on gives another data set each time."""
    once, twice = (form.encode(source.read(0, 1), 0) for _ in range(2))
    if not all(map(np.array_equal, once.columns, twice.columns)):
        print("note: item 0 was another when it was read once more: the dataset changes its items at random")


def main() -> None:
    args = make_parser().parse_args()
    check_set_output(args.output, args.shards, args.overwrite)
    inputs = None if args.input_column is None else tuple(args.input_column)
    choice = ColumnChoice(inputs, args.target_column, args.task != "predict")
    spec = SourceSpec(args.dataset, args.split, choice)
    source = open_source(spec)
    form = form_of(source, args)
    if source.num_items is not None:
        note_random_items(source, form)
    items = ItemSet(source, spec, form, args.workers, args.part_rows)
    written = write_item_set(items, args.output, args.overwrite, args.shards)
    columns = ", ".join(f"{column.name} {column.dtype} {list(column.shape)}" for column in written.form.inputs)
    count, counted = written.form.num_classes, schema.find_task(form.task).counted
    classes = f", {count} {counted.removesuffix('s') if count == 1 else counted}" if counted else ""
    files = describe_files(args.output, args.shards)
    print(f"wrote {args.output}: {written.num_rows} items of {columns}; {form.task}{classes}, {files}")


if __name__ == "__main__":
    run_tool("prepare_dataset", main)
