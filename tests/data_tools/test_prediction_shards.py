# SPDX-License-Identifier: Apache-2.0
"""prepare_predictions: of a data set of several files, it writes what it writes of one file."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from tally_data.shards import open_set

from conftest import Tool
from test_prepare_predictions import CLASSES, NAME, NAMES, SAMPLES, SHUFFLED, add_names, save, scores

LOGITS = ("--outputs", "logits")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    path = tmp_path / "val.shards.json"
    with open_set(
        path, 3, SAMPLES,
        lambda out, part: [out.add_input("x", dtype="float32", shape=()), out.add_target("label")],
        overwrite=False, task="multiclass", num_classes=CLASSES, class_names=NAMES,
    ) as rows:  # fmt: skip
        rows.append(np.zeros(SAMPLES, np.float32), np.zeros(SAMPLES, np.int64))
    first = 0
    for shard in json.loads(path.read_text())["shards"]:
        add_names(tmp_path / shard["file"], [f"{number}.png" for number in range(first, first + shard["rows"])])
        first += shard["rows"]
    return path


@pytest.mark.parametrize("key", [None, "index", "name"])
def test_is_as_of_one_file(key: str | None, index: Path, tmp_path: Path, succeed: Tool) -> None:
    values, order = scores(CLASSES), SHUFFLED if key else np.arange(SAMPLES)
    keys = {"index": order} if key == "index" else {"name": np.array([f"{number}.png" for number in order])} if key else {}
    source = save("npz", tmp_path, values[order], **keys)
    done = succeed(NAME, "--input", source, "--data", index, "--output", tmp_path / "p.h5", *LOGITS)
    assert done.stdout.splitlines()[-1].startswith(f"wrote {tmp_path / 'p.h5'}: logits [{SAMPLES}, {CLASSES}] for multiclass")
    with h5py.File(tmp_path / "p.h5") as file:
        assert (file["logits"][...] == values).all() and file.attrs["data"].decode() == str(index)


def test_what_is_refused(index: Path, tmp_path: Path, fail: Tool) -> None:
    words = ["--input", save("npy", tmp_path, scores(CLASSES)), "--data", index, *LOGITS]
    content = json.loads(index.read_text())
    last = tmp_path / content["shards"][-1]["file"]
    with h5py.File(last, "r+") as file:
        file["class_names"][0] = "fox"
    fail(NAME, *words, code=3, says=f"'{last}' has another task, other classes or labels than")
    content["shards"][0]["rows"] -= 1
    content["shards"][1]["rows"] += 1
    index.write_text(json.dumps(content))
    fail(NAME, *words, code=3, says=f"has 7 samples, its index '{index}' says 6")
    last.unlink()
    fail(NAME, *words, code=3, says=f"'{last}' does not exist")
    content["shards"][0]["file"] = "../elsewhere.h5"
    for text in (json.dumps(content), "[]", '{"shards": []}', "[" * 100_000):
        index.write_text(text)
        fail(NAME, *words, code=3, says=f"'{index}' is no index of a data set of several files")
