#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes scikit-learn's handwritten digits (8x8 grey, values 0..16) as a Tally data set.

The images ship inside the scikit-learn package: nothing is downloaded. The split is fixed: the first 1,437 images are
`train`, the last 360 `test`; they come from other writers.
"""

from pathlib import Path

import numpy as np

from tally_data.atomic import check_output
from tally_data.encoding import ImageEncoding
from tally_data.errors import DataError, EnvironmentFault, run_tool
from tally_data.image_set import ImageSet, array_batches, write_image_set
from tally_data.options import ToolParser, add_image_options, add_output_options, image_encoding

RECIPE = ImageEncoding("L", 1 / 16, (0.0,), (1.0,))
NUM_TRAIN = 1437


def load(table: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """images uint8 [1797, 8, 8, 1], labels int64 [1797]; from the package or from a copy of its digits.csv[.gz]."""
    if table is not None:
        try:
            rows = np.loadtxt(table, delimiter=",", ndmin=2)
        except (OSError, ValueError) as error:
            raise DataError(f"'{table}' is not the digits table (csv of 65 columns): {error}") from error
        if rows.shape != (1797, 65) or rows.min() < 0 or rows[:, :64].max() > 16:
            raise DataError(
                f"'{table}' is not the digits table: expected 1797 rows of 64 values 0..16 and a label"
            )
        return rows[:, :64].reshape(-1, 8, 8, 1).astype(np.uint8), rows[:, 64].astype(np.int64)
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise EnvironmentFault("scikit-learn is not installed; run jobs/setup.sh") from error
    digits = load_digits()
    return digits.images[..., None].astype(np.uint8), digits.target.astype(np.int64)


def main() -> None:
    parser = ToolParser(__doc__)
    parser.add_argument(
        "--input", type=Path, metavar="FILE", help="digits.csv or digits.csv.gz (default: the package's)"
    )
    parser.add_argument("--split", choices=("train", "test"), default="test", help="default test")
    add_output_options(parser, "the data set file (.h5)")
    add_image_options(parser, RECIPE)
    args = parser.parse_args()
    encoding = image_encoding(args, RECIPE)
    check_output(args.output, args.overwrite)
    images, labels = load(args.input)
    rows = slice(0, NUM_TRAIN) if args.split == "train" else slice(NUM_TRAIN, None)
    images, labels = images[rows], labels[rows]
    names = [str(digit) for digit in range(10)]
    source = ImageSet(len(images), 8, 8, "L", 10, names, array_batches(images, labels))
    write_image_set(source, args.output, args.overwrite, encoding)


if __name__ == "__main__":
    run_tool("prepare_digits", main)
