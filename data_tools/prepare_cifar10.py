#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes CIFAR-10 (32x32 RGB) as a Tally data set.

--input is one or more files of CIFAR-10's binary form, such as cifar-10-batches-bin/test_batch.bin: records of 3073
bytes, a label, then the red, green and blue planes. The images keep their order.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from tally_data.atomic import check_output
from tally_data.encoding import IMAGENET
from tally_data.errors import DataError, reading, run_tool
from tally_data.image_set import Batch, ImageSet, write_image_set
from tally_data.options import ToolParser, add_image_options, add_output_options, image_encoding

CLASS_NAMES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
RECORD_BYTES = 1 + 3 * 32 * 32
RECORDS_PER_READ = 1024


def count_records(path: Path) -> int:
    with reading(path):
        num_bytes = path.stat().st_size if path.is_file() else -1
    if num_bytes < 0:
        raise DataError(f"'{path}' is not a file; name the .bin files themselves")
    if num_bytes == 0 or num_bytes % RECORD_BYTES:
        raise DataError(
            f"'{path}' has {num_bytes} bytes, expected a multiple of {RECORD_BYTES} (CIFAR-10's binary form)"
        )
    return num_bytes // RECORD_BYTES


def read_batches(paths: list[Path]) -> Iterable[Batch]:
    """images uint8 [n, 32, 32, 3] RGB, labels uint8 [n]."""
    for path in paths:
        first = 0
        with reading(path), path.open("rb") as file:
            while raw := file.read(RECORD_BYTES * RECORDS_PER_READ):
                records = np.frombuffer(raw, np.uint8).reshape(-1, RECORD_BYTES)
                labels = records[:, 0]
                if labels.max() > 9:
                    at = int(np.argmax(labels > 9))
                    raise DataError(f"'{path}', record {first + at}: label {labels[at]}, expected 0..9")
                yield records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), labels
                first += len(records)


def main() -> None:
    parser = ToolParser(__doc__)
    parser.add_argument(
        "--input", type=Path, nargs="+", required=True, metavar="FILE", help="binary files, in order"
    )
    add_output_options(parser, "the data set file (.h5)")
    add_image_options(parser, IMAGENET)
    args = parser.parse_args()
    encoding = image_encoding(args, IMAGENET)
    check_output(args.output, args.overwrite)
    num_samples = sum(map(count_records, args.input))
    source = ImageSet(num_samples, 32, 32, "RGB", 10, CLASS_NAMES, read_batches(args.input))
    write_image_set(source, args.output, args.overwrite, encoding)


if __name__ == "__main__":
    run_tool("prepare_cifar10", main)
