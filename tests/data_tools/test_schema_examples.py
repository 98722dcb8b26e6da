# SPDX-License-Identifier: Apache-2.0
"""What SCHEMA.md tells users to write works."""

from pathlib import Path

import h5py
from schema_examples import write_schema_examples


def test_examples_write_what_they_say(tmp_path: Path) -> None:
    found = {}
    for path in write_schema_examples(tmp_path):
        with h5py.File(path) as file:
            label = file["targets/label"]
            assert "checksums/targets/label" in file and "class_names" in file
            found[path.name] = (file.attrs["task"].decode(), label.dtype.name, label.shape)
    assert found == {
        "findings.h5": ("multilabel", "uint8", (500, 3)),
        "pets.h5": ("multiclass", "int64", (1000,)),
        "prices.h5": ("regression", "float32", (500,)),
    }
