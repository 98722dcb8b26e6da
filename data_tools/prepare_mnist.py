#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes MNIST (28x28 grey) as a Tally data set.

--input is the folder of the four official idx files, gzipped or not: train-images-idx3-ubyte, train-labels-idx1-ubyte,
t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte. Sets of the same form, such as Fashion-MNIST, work too.
"""

from pathlib import Path

from tally_data.atomic import check_output
from tally_data.encoding import ImageEncoding
from tally_data.errors import DataError, run_tool
from tally_data.idx import find_idx, read_idx
from tally_data.image_set import ImageSet, array_batches, write_image_set
from tally_data.options import ToolParser, add_image_options, add_output_options, image_encoding

RECIPE = ImageEncoding("L", 1 / 255, (0.1307,), (0.3081,))
STEMS = {"test": "t10k", "train": "train"}


def load(folder: Path, split: str) -> ImageSet:
    images_path = find_idx(folder, f"{STEMS[split]}-images-idx3-ubyte")
    labels_path = find_idx(folder, f"{STEMS[split]}-labels-idx1-ubyte")
    images, labels = read_idx(images_path, 3), read_idx(labels_path, 1)
    if len(images) != len(labels):
        raise DataError(f"'{images_path}' holds {len(images)} images, '{labels_path}' {len(labels)} labels")
    names = [str(digit) for digit in range(10)]
    _, height, width = images.shape
    return ImageSet(len(images), height, width, "L", 10, names, array_batches(images[..., None], labels))


def main() -> None:
    parser = ToolParser(__doc__)
    parser.add_argument("--input", type=Path, required=True, metavar="FOLDER", help="folder of the idx files")
    parser.add_argument("--split", choices=tuple(STEMS), default="test", help="default test")
    add_output_options(parser, "the data set file (.h5)")
    add_image_options(parser, RECIPE)
    args = parser.parse_args()
    encoding = image_encoding(args, RECIPE)
    check_output(args.output, args.overwrite)
    write_image_set(load(args.input, args.split), args.output, args.overwrite, encoding)


if __name__ == "__main__":
    run_tool("prepare_mnist", main)
