# SPDX-License-Identifier: Apache-2.0
"""Ragged arrays of a data set file, as SCHEMA.md has them."""

import h5py
import numpy as np


def ragged(file: h5py.File, path: str) -> list[np.ndarray]:
    values, offsets = file[f"{path}/values"][...], file[f"{path}/offsets"][...]
    assert offsets[0] == 0 and offsets[-1] == len(values) and offsets.dtype == np.dtype("<i8")
    assert all(f"checksums{path}/{part}" in file for part in ("values", "offsets"))
    return [values[first:last] for first, last in zip(offsets, offsets[1:], strict=False)]


def sample_names(file: h5py.File) -> list[str]:
    assert file["samples/name/values"].dtype == np.uint8
    return [row.tobytes().decode() for row in ragged(file, "/samples/name")]
