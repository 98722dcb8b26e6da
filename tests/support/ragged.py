# SPDX-License-Identifier: Apache-2.0
"""Reads the ragged arrays of data set files (SCHEMA.md)."""

import h5py
import numpy as np


def ragged(group: h5py.Group) -> list[np.ndarray]:
    """Its rows."""
    offsets, values = group["offsets"][...], group["values"][...]
    assert offsets.dtype == np.int64 and offsets[0] == 0 and offsets[-1] == len(values)
    return [values[begin:end] for begin, end in zip(offsets, offsets[1:])]


def texts(group: h5py.Group) -> list[str]:
    """Its rows, of UTF-8."""
    return [row.tobytes().decode() for row in ragged(group)]
