#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a folder, an uncompressed tar or a zip file of images as a Tally data set.

Labels: --labels FILE with a line per image, `name label`, `name, label` or csv (a header line is skipped); a name is
the image's file name or the end of its path, with or without the extension, or the only one that ends with its path. Names
without an image are ignored, an image without a label is an error. A label is a number, or a name of --class-names; where
these begin with synsets, as in ImageNet's LOC_synset_mapping.txt, a synset, or the boxes of one class that Kaggle's
LOC_val_solution.csv lists. A folder is ImageNet's development kit (ILSVRC2012_devkit_t12); a
file real.json has ImageNet's reassessed labels, of which several may be right for an image, or none.

With --multilabel an image has any number of labels, and the label file is a csv. Either its first line names the classes, and
the others are a name and 1 or 0 for each class, or nothing, -1 or --ignore-value where it is not known; --class-names then
says which of the columns are read, in which order. Or the second column lists the image's classes, by names of --class-names
or numbers, with blanks or | ; , between them.

Without --labels the class of an image is its top folder. --class-order numbers these classes as the model was trained:
torchvision's ImageFolder (default) sorts by character code (Boat, apple, cat10, cat9), timm naturally and without case
(apple, Boat, cat9, cat10); a file gives the folders a line each. --class-names does so as well where its names are the
folders' names; names of which none is a folder's are what the classes of that order are called.

Images are ordered by folder and name. Those whose name, or a folder's, begins with a dot are left out, and so are folders
__MACOSX. Images that cannot be decoded are all listed in the error; --skip-broken leaves them out.

Size: --like MODEL prepares the images as the weights of that model want them (crop, interpolation, normalisation), bit for
bit as torchvision, timm or transformers would. MODEL is an exported file, whose model card is read, the name of a
torchvision or timm model (its default weights, or those that --recipe names), or hf:FOLDER. Other options override this.

Without it --resize N --crop N are torchvision's Resize(N) (shorter side, antialiased) and CenterCrop(N), and --resize HxW
resizes both sides. Without these the images are stored as they are and must all have one size.
"""

import argparse
from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from tally_data.class_order import order_classes, read_class_names
from tally_data.decode import DecodeRule, Shape, decode_chunk, first_shape
from tally_data.decoded_images import skipping_broken, whole_images
from tally_data.encoding import IMAGENET, ImageEncoding
from tally_data.errors import DataError, UsageError, run_tool
from tally_data.image_files import ImageFile, ImageFiles, list_images
from tally_data.imagenet_devkit import labels_from_devkit
from tally_data.imagenet_real import labels_from_real
from tally_data.image_set import Batch, ImageSet, write_image_set
from tally_data.labels import Labels, labels_from_file, labels_from_folders
from tally_data.multilabel import labels_from_table, unknown_value
from tally_data.options import (
    ToolParser, add_broken_option, add_image_options, add_output_options, add_shards_option, positive
)  # fmt: skip
from tally_data.parallel import default_workers, ordered_map
from tally_data.preparation import IMAGENET_NOTE, add_geometry_options, find_recipe, preparation
from tally_data.shards import check_set_output

IMAGES_PER_CHUNK = 16


def decoded_batches(
    files: list[ImageFile], labels: np.ndarray, shape: Shape, rule: DecodeRule, workers: int
) -> Iterable[Batch]:
    chunks = [files[first : first + IMAGES_PER_CHUNK] for first in range(0, len(files), IMAGES_PER_CHUNK)]
    work = partial(decode_chunk, rule=rule, shape=shape)
    first = 0
    for pixels in whole_images(ordered_map(work, chunks, min(workers, len(chunks))), len(files)):
        yield pixels, labels[first : first + len(pixels)]
        first += len(pixels)


def check_label_options(args: argparse.Namespace) -> None:
    if args.labels and args.class_order is not None:
        raise UsageError("--class-order is for classes that are folders; with --labels the label file numbers them")
    if args.labels and args.labels.is_dir() and args.class_names:
        raise UsageError("--class-names does not go with ImageNet's development kit, which names its classes")
    if args.multilabel and (args.labels is None or args.labels.is_dir()):
        raise UsageError("--multilabel needs --labels FILE, a csv")
    if args.ignore_value is not None and not args.multilabel:
        raise UsageError("--ignore-value is for --multilabel")


def find_labels(args: argparse.Namespace, images: ImageFiles) -> Labels:
    if args.labels and args.labels.is_dir():
        return labels_from_devkit(images, args.labels)
    names = read_class_names(args.class_names) if args.class_names else None
    if args.multilabel:
        return labels_from_table(images, args.labels, names, args.ignore_value)
    if args.labels and args.labels.suffix == ".json":
        return labels_from_real(images, args.labels, names)
    if args.labels:
        return labels_from_file(images, args.labels, names)
    order = order_classes(images, args.class_order, args.class_names)
    labels = labels_from_folders(images, order)
    print(order.summary())
    return labels


def class_count(args: argparse.Namespace, labels: Labels) -> int:
    """--num-classes, else the number of names, else what the labels imply."""
    names = labels.class_names
    count = args.num_classes or (len(names) if names else labels.num_classes)
    if names and len(names) != count:
        raise UsageError(f"there are {len(names)} class names for {count} classes")
    if labels.task == "multilabel":
        return count
    if (largest := max(map(np.max, filter(len, labels.label_sets or [labels.labels])), default=0)) >= count:
        raise DataError(f"the largest label is {largest}, expected 0..{count - 1}")
    if count < 2:
        raise DataError(
            f"'{args.input}' has images of {count} class, expected 2 or more (or give --num-classes)"
        )
    return count


def find_images(args: argparse.Namespace) -> tuple[list[ImageFile], Labels]:
    """Says what is left out, and of how many classes the labels are."""
    images = list_images(args.input)
    if images.hidden:
        print(f"note: hidden images are left out: {len(images.hidden)}, first '{images.hidden[0]}'")
    labels = find_labels(args, images)
    if labels.num_unused:
        print(f"ignored {labels.num_unused} labels that have no image")
    num_classes = class_count(args, labels)
    if args.num_classes is None and labels.class_names is None:
        print(f"note: {num_classes} classes, as the largest label is {num_classes - 1}; give --num-classes if there are more")
    return images.files, replace(labels, num_classes=num_classes)


def make_image_set(
    images: list[ImageFile], labels: Labels, encoding: ImageEncoding, rule: DecodeRule, workers: int
) -> ImageSet:
    shape = first_shape(images, rule)
    return ImageSet(
        len(images), *shape.size, encoding.channels, labels.num_classes, labels.class_names,
        decoded_batches(images, labels.labels, shape, rule, workers),
        class_order=labels.class_order, geometry=rule.geometry, file_names=[file.name for file in images],
        task=labels.task, ignore_index=labels.ignore_index, label_sets=labels.label_sets,
    )  # fmt: skip


def write_images(
    args: argparse.Namespace, images: list[ImageFile], labels: Labels, encoding: ImageEncoding, rule: DecodeRule
) -> None:
    def write(left_out: Collection[int]) -> None:
        kept = [file for place, file in enumerate(images) if place not in left_out]
        source = make_image_set(kept, labels.without(left_out), encoding, rule, args.workers)
        write_image_set(source, args.output, args.overwrite, encoding, args.shards)

    skipping_broken(write, args.skip_broken)


def main() -> None:
    parser = ToolParser(__doc__)
    parser.add_argument("--input", type=Path, required=True, metavar="PATH", help="folder, tar or zip file of images")
    parser.add_argument("--labels", type=Path, metavar="FILE", help="label file, or ImageNet's devkit; default: a folder per class")
    parser.add_argument(
        "--multilabel", action="store_true", help="the label file has a column for each class, or lists of classes"
    )
    parser.add_argument(
        "--ignore-value", type=unknown_value, metavar="X",
        help="with --multilabel: what says that a label is unknown, as -1 does",
    )  # fmt: skip
    parser.add_argument(
        "--class-order", metavar="ORDER", help="torchvision (default), timm, or a file with a folder's name per line"
    )
    parser.add_argument(
        "--class-names", type=Path, metavar="FILE", help="a line per class, in order of label: folders' names or others"
    )
    parser.add_argument(
        "--num-classes", type=positive, metavar="C", help="default: by names, or largest label + 1"
    )
    add_geometry_options(parser)
    parser.add_argument(
        "--workers", type=positive, default=default_workers(), metavar="N", help="default: %(default)s cores"
    )
    add_broken_option(parser)
    add_output_options(parser, "the data set file (.h5), or NAME.shards.json")
    add_shards_option(parser)
    add_image_options(parser, IMAGENET)
    args = parser.parse_args()
    check_label_options(args)
    check_set_output(args.output, args.shards, args.overwrite)
    recipe = find_recipe(args)
    encoding, rule = preparation(args, recipe)
    images, labels = find_images(args)
    if recipe is None and args.mean is None and args.std is None:
        print(IMAGENET_NOTE)
    write_images(args, images, labels, encoding, rule)


if __name__ == "__main__":
    run_tool("prepare_imagefolder", main)
