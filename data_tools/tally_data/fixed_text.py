# SPDX-License-Identifier: Apache-2.0
"""Texts as they are stored in HDF5 files."""

import h5py
import numpy as np

from .errors import UsageError

MOST_BYTES = 60_000  # an object's header has 64 KiB, for all of its attributes


def fixed_text(text: str) -> np.ndarray:
    """An attribute's string with its own length, in UTF-8: HDF5 1.10 may crash on damaged ones of variable length."""
    stored = text.encode()
    if len(stored) > MOST_BYTES:
        raise UsageError(f"an attribute's text has {len(stored)} bytes, HDF5 takes {MOST_BYTES} at most")
    return np.array(stored, h5py.string_dtype("utf-8", max(1, len(stored))))
