# SPDX-License-Identifier: Apache-2.0
"""Data sets of several files: together they are the set of one file, and their index says what they hold."""

import importlib
import io
import json
import os
import subprocess
import tarfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image
from tally_data import DataSetWriter
from tally_data.identity import identity

from conftest import NEEDS_PROGRAM, Tool
from sample_names import ragged
from test_label_sources import VAL
from test_prepare_imagefolder import NAMES, make_images

NAME = "prepare_dataset"
CODE = Path(__file__).with_name("own_datasets.py")
PLAIN = CODE.with_name("plain_datasets.py")
IMAGES = ("--dataset", f"{PLAIN}:pillow", "--mean", 0.5, "--std", 0.5, "--workers", 1, "--part-rows", 5)  # 23 samples


def read_index(path: Path) -> list[dict]:
    index = json.loads(path.read_text())
    assert index["tally_shards"] == 1 and index["num_samples"] == sum(shard["rows"] for shard in index["shards"])
    return index["shards"]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def content(path: Path) -> tuple[dict[str, list], dict[str, object]]:
    """Rows of each column and ragged table; all attributes and class names, but those of the checksums."""
    rows: dict[str, list] = {}
    others: dict[str, object] = {}

    def add(name: str, found: h5py.Group | h5py.Dataset) -> None:
        if name.startswith("checksums"):
            return
        others.update({f"{name}@{key}": np.asarray(value).tolist() for key, value in found.attrs.items()})
        if name == "class_names":
            others[name] = found[...].tolist()
        elif isinstance(found, h5py.Group) and "offsets" in found:
            rows[name] = [row.tobytes() for row in ragged(found.file, f"/{name}")]
        elif isinstance(found, h5py.Dataset) and "offsets" not in found.parent:
            assert f"checksums/{name}" in found.file
            others[f"{name} of"] = (found.dtype.str, found.shape[1:])
            rows[name] = [row.tobytes() for row in found[...]]

    with h5py.File(path) as file:
        add("", file)
        file.visititems(add)
    return rows, others


def assert_equals_one_file(index: Path, one: Path, shards: int) -> None:
    stem, listed = index.name.removesuffix(".shards.json"), read_index(index)
    names = [f"{stem}.{number:05d}-of-{shards:05d}.h5" for number in range(shards)]
    assert [shard["file"] for shard in listed] == names
    rows, others = content(one)
    total = len(next(iter(rows.values())))
    bounds = [number * total // shards for number in range(shards + 1)]
    for shard, first, last in zip(listed, bounds, bounds[1:], strict=False):
        found, found_others = content(index.with_name(shard["file"]))
        assert found_others == others and shard["rows"] == last - first
        assert found == {name: values[first:last] for name, values in rows.items()}


SETS = [
    ("pillow", 4, []), ("tokens", 3, []), ("vectors", 23, []), ("outputs", 1, []),
    ("findings", 3, ["--ignore-index", 255]),
    ("masks", 2, ["--mean", 0, "--std", 1]), ("depths", 2, ["--mean", 0, "--std", 1]), ("stream", 4, []),
    ("pillow", 3, ["--resize", 9, "--crop", 8, "--channels", "BGR", "--mean", 0.1, "--std", "1/3"]),
    ("unlabelled", 4, ["--task", "predict", "--mean", 0, "--std", 1]),
]  # fmt: skip


@pytest.mark.parametrize(("function", "shards", "options"), SETS)
def test_shards_are_the_set_of_one_file(
    function: str, shards: int, options: list, tmp_path: Path, succeed: Tool
) -> None:
    """Whatever the task and the parts that rows are first written in."""
    words = ["--dataset", f"{CODE}:{function}", "--workers", 1, "--part-rows", 5, *options]
    succeed(NAME, *words, "--output", tmp_path / "one.h5")
    done = succeed(NAME, *words, "--output", tmp_path / "a.shards.json", "--shards", shards)
    last = done.stdout.splitlines()[-1]
    assert last.startswith(f"wrote {tmp_path / 'a.shards.json'}: 23 items of ")
    assert last.endswith(f" MB in {shards} shard{'s' if shards > 1 else ''}")
    assert_equals_one_file(tmp_path / "a.shards.json", tmp_path / "one.h5", shards)
    assert len(names_in(tmp_path)) == shards + 2


def test_names_and_processes(tmp_path: Path, succeed: Tool) -> None:
    with tarfile.open(tmp_path / "val.tar", "w") as archive:
        for index in range(7):
            picture = io.BytesIO()
            Image.fromarray(np.full((4, 4, 3), index, np.uint8)).save(picture, "PNG")
            for kind, text in (("png", picture.getvalue()), ("cls", b"%d" % (index % 2))):
                member = tarfile.TarInfo(f"{'ü' * index}{index}.{kind}")
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text))
    words = ["--dataset", tmp_path / "val.tar", "--part-rows", 2]
    succeed(NAME, *words, "--workers", 1, "--output", tmp_path / "one.h5")
    succeed(NAME, *words, "--workers", 2, "--shards", 3, "--output", tmp_path / "a.shards.json")
    assert "samples/name" in content(tmp_path / "one.h5")[0]
    assert_equals_one_file(tmp_path / "a.shards.json", tmp_path / "one.h5", 3)


def folder_with_sets(root: Path) -> list[object]:
    """Six images, one of them broken, with sets of labels of different length; the options that prepare them."""
    make_images(root / "val", VAL)
    (root / "val" / VAL[2]).write_bytes(b"junk")
    (root / "real.json").write_text("[[4, 2], [0], [1], [], [3, 1, 2], []]")
    return ["--input", root / "val", "--labels", root / "real.json", "--skip-broken", "--workers", 1]


def test_folders_of_images(tmp_path: Path, succeed: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.import_module("prepare_imagefolder"), "IMAGES_PER_CHUNK", 2)
    make_images(tmp_path / "set", NAMES)
    cases = [
        (["--input", tmp_path / "set", "--workers", 1], 4, "6 images 5x6 RGB, 3 classes, 0.1 MB in 4 shards"),
        (folder_with_sets(tmp_path), 3, "5 images 5x6 RGB, 5 classes, 0.1 MB in 3 shards"),
    ]
    for words, shards, says in cases:
        succeed("prepare_imagefolder", *words, "--output", tmp_path / "one.h5", "--overwrite")
        index = tmp_path / f"{shards}.shards.json"
        done = succeed("prepare_imagefolder", *words, "--output", index, "--shards", shards)
        assert done.stdout.splitlines()[-1] == f"wrote {index}: {says}"
        assert_equals_one_file(index, tmp_path / "one.h5", shards)
    rows = content(tmp_path / "one.h5")[0]
    assert len(set(map(len, rows["targets/labels"]))) == 4 and "samples/name" in rows


def test_what_is_refused(tmp_path: Path, tool: Tool) -> None:
    """Before anything is written."""
    make_images(tmp_path / "set", NAMES)
    folder = tmp_path / "out"
    folder.mkdir()
    tools = ((NAME, IMAGES, 23), ("prepare_imagefolder", ("--input", tmp_path / "set", "--workers", 1), 6))
    for name, words, count in tools:
        for output, options, says in (
            ("a.h5", ["--shards", 2], "a.h5', with --shards it must be NAME.shards.json"),
            (".shards.json", ["--shards", 2], ".shards.json', with --shards it must be NAME.shards.json"),
            ("a.shards.json", [], "would be an index of several files: give --shards N, or another name"),
            ("a.shards.json", ["--shards", count + 1], f"--shards is {count + 1}, more than the {count} samples"),
            ("a.shards.json", ["--shards", 0], "argument --shards: '0' is not a whole number above 0"),
        ):
            done = tool(name, *words, "--output", folder / output, *options)
            assert done.returncode == 2 and says in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
            assert names_in(folder) == []


@pytest.mark.parametrize("present", ["a.shards.json", "a.00001-of-00002.h5"])
def test_files_that_are_there_are_kept(present: str, tmp_path: Path, tool: Tool) -> None:
    (tmp_path / present).write_text("{}")
    done = tool(NAME, *IMAGES, "--output", tmp_path / "a.shards.json", "--shards", 2)
    assert done.returncode == 6 and f"{present}' exists already; give another name or --overwrite" in done.stderr
    assert names_in(tmp_path) == [present] and (tmp_path / present).read_text() == "{}"


def test_no_shard_of_an_earlier_set_is_left(tmp_path: Path, succeed: Tool) -> None:
    words = [*IMAGES, "--output", tmp_path / "a.shards.json", "--overwrite"]
    succeed(NAME, *words, "--shards", 5)
    before = read_index(tmp_path / "a.shards.json")
    (tmp_path / "a.00007-of-00009.h5").write_text("not of this set")
    (tmp_path / "letter.h5").write_text("dear")
    index = json.loads((tmp_path / "a.shards.json").read_text())
    index["shards"] += [{"file": "letter.h5"}, {"file": "../a.00000-of-00001.h5"}, 3]
    (tmp_path / "a.shards.json").write_text(json.dumps(index | {"shards": index["shards"][:-1]}))
    succeed(NAME, *words, "--shards", 2)
    kept = ["a.00000-of-00002.h5", "a.00001-of-00002.h5", "a.00007-of-00009.h5", "a.shards.json", "letter.h5"]
    assert len(before) == 5 and names_in(tmp_path) == kept
    succeed(NAME, *words, "--shards", 2, "--num-classes", 4, "--ignore-index", 0)
    changed = read_index(tmp_path / "a.shards.json")
    assert names_in(tmp_path) == kept and len({shard["identity"] for shard in [*before, *changed]}) == 7
    (tmp_path / "a.shards.json").write_text("no index")
    succeed(NAME, *words, "--shards", 1)
    assert [shard["rows"] for shard in read_index(tmp_path / "a.shards.json")] == [23]


def test_a_cut_run_leaves_no_index_and_is_gone_on_with(
    tmp_path: Path, tool: Tool, succeed: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    succeed(NAME, *IMAGES, "--output", tmp_path / "one.h5")
    words = [*IMAGES, "--output", tmp_path / "a.shards.json"]
    with monkeypatch.context() as patch:
        patch.setenv("RAISE_AT", "17")
        assert tool(NAME, *words, "--shards", 4).returncode == 3
    assert names_in(tmp_path) == ["a.shards.json.parts", "one.h5"]
    with monkeypatch.context() as patch:
        patch.setenv("RAISE_AT", "3")  # of a part that is whole
        done = succeed(NAME, *words, "--shards", 3)
    assert "note: 3 parts of an earlier run are there already, 15 items" in done.stdout
    assert_equals_one_file(tmp_path / "a.shards.json", tmp_path / "one.h5", 3)
    assert len(names_in(tmp_path)) == 5


def test_a_failure_leaves_the_earlier_set(
    tmp_path: Path, tool: Tool, succeed: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though its second file is damaged after the first one was written."""
    make_images(tmp_path / "set", NAMES)
    words = ["--input", tmp_path / "set", "--workers", 1, "--overwrite", "--shards", 3]
    succeed("prepare_imagefolder", *words, "--output", tmp_path / "a.shards.json")
    before = {name: (tmp_path / name).read_bytes() for name in names_in(tmp_path) if name != "set"}
    (tmp_path / "set" / NAMES[0]).write_bytes(b"junk")
    monkeypatch.setattr(importlib.import_module("prepare_imagefolder"), "IMAGES_PER_CHUNK", 1)
    done = tool("prepare_imagefolder", *words, "--output", tmp_path / "a.shards.json")
    assert done.returncode == 3 and "1 of 6 images is broken" in done.stderr
    assert {name: (tmp_path / name).read_bytes() for name in names_in(tmp_path) if name != "set"} == before


def test_a_failure_midway_leaves_no_file_of_the_set(
    tmp_path: Path, tool: Tool, succeed: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the files get their names; the earlier index, whose content is no longer sure, is as if it were none."""
    make_images(tmp_path / "set", NAMES)
    words = ["--input", tmp_path / "set", "--workers", 1, "--overwrite", "--shards", 3]
    (tmp_path / "a.shards.json").write_text("[" * 100_000)
    rename = Path.replace

    def fails(path: Path, target: Path) -> Path:
        if target.name.startswith("a.00002"):
            raise OSError(28, "No space left on device")
        return rename(path, target)

    monkeypatch.setattr(Path, "replace", fails)
    done = tool("prepare_imagefolder", *words, "--output", tmp_path / "a.shards.json")
    assert done.returncode == 6 and "cannot be written: No space left on device" in done.stderr
    assert names_in(tmp_path) == ["set"]
    monkeypatch.undo()
    succeed("prepare_imagefolder", *words, "--output", tmp_path / "a.shards.json")
    assert len(names_in(tmp_path)) == 5


def write_tagged(path: Path) -> Path:
    """Sequences and a group, which the identity knows as well."""
    with DataSetWriter(path, task="token-classification", num_classes=3, num_samples=70, ignore_index=-100) as out:
        out.add_sequence("/inputs/b.ids", "int32", 70, 4, -1).append(np.arange(280, dtype=np.int32).reshape(70, 4))
        out.add_sequence("/inputs/B", "uint8", 70, 4, 0).append(np.ones((70, 4), np.uint8))
        out.add_column("/lengths", "int32", 70).append(np.full(70, 4, np.int32))
        out.add_token_labels(length=4, data=np.full((70, 4), -100))
        out.add_group("z", np.arange(70, dtype=np.int32))
        out.add_group("a", np.zeros(70, np.int32))
        out.add_names(map(str, range(70)))
    return path


def verified(path: Path) -> str:
    command = [os.environ["TALLY_BIN"], "inspect", "--verify", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "integrity: checked" in done.stdout
    return done.stdout


@NEEDS_PROGRAM
def test_the_program_agrees_about_identities(tmp_path: Path, succeed: Tool) -> None:
    """It reads a shard as a data set of its own, finds nothing wrong, and prints the identity that the index has."""
    for number, (function, _, options) in enumerate(SETS[3:]):
        words = ["--dataset", f"{CODE}:{function}", "--workers", 1, *options, "--shards", 1]
        succeed(NAME, *words, "--output", tmp_path / f"{number}.shards.json")
    words = ["--resize", "8x9", "--interpolation", "bicubic", "--output", tmp_path / "sets.shards.json", "--shards", 2]
    succeed("prepare_imagefolder", *folder_with_sets(tmp_path), *words)
    indices = list(tmp_path.glob("*.shards.json"))
    found = {shard["file"]: shard["identity"] for index in indices for shard in read_index(index)[-1:]}
    with h5py.File(write_tagged(tmp_path / "tagged.h5")) as file:
        found["tagged.h5"] = identity(file)
    for name, expected in found.items():
        assert f"identity: {expected}\n" in verified(tmp_path / name)
    for index in indices:
        assert f"verified: all {sum(shard['rows'] for shard in read_index(index))} rows read" in verified(index)
    assert len(set(found.values())) == len(found) == len(SETS) - 1
