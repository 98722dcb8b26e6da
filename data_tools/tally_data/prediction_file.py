# SPDX-License-Identifier: Apache-2.0
"""A predictions.h5 (docs/formats.md) while it is written."""

from pathlib import Path

import h5py
import numpy as np

from .set_file import SetFile

LAYOUT_VERSION = 1


class PredictionFile(SetFile):
    """Columns without checksums, complete or absent."""

    def __init__(self, path: Path, *, overwrite: bool) -> None:
        super().__init__(path, overwrite=overwrite, checksums=False)

    def _begin(self, file: h5py.File) -> None:
        file.attrs["tally_predictions"] = np.int64(LAYOUT_VERSION)
