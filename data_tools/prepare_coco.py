#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes COCO's object annotations (instances_val2017.json and others of its form) as a Tally data set for detection.

Images are in ascending order of their ids, classes in that of the categories' ids; what is written of an object is its
box, its area (else width * height of the box) and whether it is a crowd. --images is the folder, the
uncompressed tar or the zip file of the images. All are resized to --size: with --fit pad they keep their proportions and
are filled up at the right and at the bottom, with --fit stretch they do not. /images/placement leads from there back to
the annotated pixels.

--no-images writes no pixels: the input is then `index`, the number of the sample, enough to score results that are
there already.
"""

import argparse
from collections import defaultdict
from collections.abc import Collection, Iterable
from functools import partial
from pathlib import Path

import numpy as np

from tally_data.atomic import check_output
from tally_data.coco import Coco, CocoImage, read_coco
from tally_data.decode import FILTERS
from tally_data.decoded_images import skipping_broken, whole_images
from tally_data.detection_set import Pixels, write_detection_set
from tally_data.encoding import IMAGENET
from tally_data.errors import DataError, UsageError, run_tool
from tally_data.letterbox import FITS, FitRule, fit_chunk
from tally_data.image_files import ImageFile, list_images
from tally_data.options import (
    ToolParser,
    add_broken_option,
    add_image_options,
    add_output_options,
    image_encoding,
    positive,
    size,
)
from tally_data.parallel import default_workers, ordered_map

IMAGES_PER_CHUNK = 16
PIXEL_OPTIONS = ("size", "fit", "pad", "interpolation", "workers", "channels", "scale", "mean", "std", "skip_broken")


def is_end(end: str, path: str) -> bool:
    return path == end or path.endswith(f"/{end}")


def find_files(images: list[CocoImage], source: Path) -> list[ImageFile]:
    """The file of each image: its path ends with the image's file_name, or the other way round."""
    by_name = defaultdict(list)
    for file in list_images(source).files:
        by_name[file.name.rpartition("/")[2]].append(file)
    found = []
    for image in images:
        name = image.name.removeprefix("./")
        candidates = by_name[name.rpartition("/")[2]]
        fitting = [file for file in candidates if is_end(name, file.name) or is_end(file.name, name)]
        exact = [file for file in fitting if file.name == name]
        if len(exact or fitting) != 1:
            which = "is in" if fitting else "is not in"
            more = f" more than once: '{fitting[0].name}' and '{fitting[1].name}'" if fitting else ""
            raise DataError(f"image '{image.name}' ({image.place}) {which} '{source}'{more}")
        found.append((exact or fitting)[0])
    return found


def fitted_batches(coco: Coco, source: Path, rule: FitRule, workers: int) -> Iterable[np.ndarray]:
    wanted = list(zip(find_files(coco.images, source), coco.images, strict=True))
    chunks = [wanted[first : first + IMAGES_PER_CHUNK] for first in range(0, len(wanted), IMAGES_PER_CHUNK)]
    return whole_images(ordered_map(partial(fit_chunk, rule=rule), chunks, min(workers, len(chunks))), len(wanted))


def find_pixels(args: argparse.Namespace, coco: Coco) -> Pixels:
    encoding = image_encoding(args, IMAGENET)
    pad = args.pad * encoding.num_channels if len(args.pad) == 1 else args.pad
    if len(pad) != encoding.num_channels or max(pad) > 255:
        raise UsageError(f"--pad is {encoding.num_channels} values of 0 to 255, one for each channel")
    rule = FitRule(encoding.channels, *args.size, args.fit, pad, args.interpolation)
    return Pixels(rule, encoding, fitted_batches(coco, args.images, rule, args.workers))


def levels(text: str) -> tuple[int, ...]:
    if not all(part.isdecimal() for part in text.split(",")):
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of whole numbers such as 124,116,104")
    return tuple(map(int, text.split(",")))


def make_parser() -> argparse.ArgumentParser:
    parser = ToolParser(__doc__)
    parser.add_argument("--input", type=Path, required=True, metavar="FILE", help="such as instances_val2017.json")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--images", type=Path, metavar="PATH", help="folder, tar or zip file of the images")
    source.add_argument("--no-images", action="store_true", help="write annotations alone")
    parser.add_argument("--size", type=size, metavar="HxW", help="height and width of what the model is given")
    parser.add_argument("--fit", choices=FITS, default="pad", help="into that size, default %(default)s")
    parser.add_argument(
        "--pad", type=levels, default=(0,), metavar="X,...", help="stored value there, or one for each of --channels, default 0"
    )
    parser.add_argument(
        "--interpolation", choices=tuple(FILTERS), default="bilinear", help="default %(default)s, antialiased"
    )
    parser.add_argument("--limit", type=positive, metavar="N", help="the first N images only")
    parser.add_argument(
        "--workers", type=positive, default=default_workers(), metavar="N", help="default: %(default)s cores"
    )
    add_broken_option(parser)
    add_output_options(parser, "the data set file (.h5)")
    add_image_options(parser, IMAGENET)
    return parser


def check_options(args: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    if args.images is not None and args.size is None:
        raise UsageError("--images needs --size HxW, the size of what the model is given")
    for name in PIXEL_OPTIONS:
        if args.no_images and getattr(args, name) != parser.get_default(name):
            raise UsageError(f"--{name.replace('_', '-')} is for --images, and --no-images was given")


def print_boxes_beyond(coco: Coco) -> None:
    if beyond := coco.beyond_images():
        count = f"{len(beyond)} boxes reach" if len(beyond) > 1 else "1 box reaches"
        print(f"note: {count} more than a pixel beyond the image, the first in image {beyond[0]}; kept as they are")


def write_objects(args: argparse.Namespace) -> Coco:
    """Returns what was written."""
    coco = read_coco(args.input, with_pixels=args.images is not None).first(args.limit)

    def write(left_out: Collection[int]) -> Coco:
        kept = coco.without(left_out)
        write_detection_set(kept, None if args.no_images else find_pixels(args, kept), args.output, args.overwrite)
        return kept

    return skipping_broken(write, args.skip_broken)


def main() -> None:
    parser = make_parser()
    args = parser.parse_args()
    check_options(args, parser)
    check_output(args.output, args.overwrite)
    coco = write_objects(args)
    print_boxes_beyond(coco)
    shape = "without pixels" if args.no_images else "x".join(map(str, args.size))
    print(
        f"wrote {args.output}: {len(coco.images)} images {shape}, {sum(map(len, coco.objects))} objects of "
        f"{len(coco.categories)} classes, {args.output.stat().st_size / 1e6:.1f} MB"
    )


if __name__ == "__main__":
    run_tool("prepare_coco", main)
