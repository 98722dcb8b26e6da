# SPDX-License-Identifier: Apache-2.0
"""Samples with names: shown beside their index, copied, and compared where two data sets prepare them differently."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import h5py
import numpy as np
import pytest
import small
from conftest import Evaluate, Result
from launch import Program
from paired_runs import Tilted
from tally_data import DataSetWriter

NAMES = [f"class {i % 5}/ä {i}.png" for i in range(small.NUM_SAMPLES)]


def write_names(path: Path, names: list[str], offsets: dict[int, int] | None = None) -> Path:
    """Adds names to a data set, without checksums; some offsets may be others."""
    with h5py.File(path, "r+") as file:
        rows = [name.encode() for name in names]
        places = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        for place, offset in (offsets or {}).items():
            places[place] = offset
        file["samples/name/values"] = np.frombuffer(b"".join(rows), np.uint8)
        file["samples/name/offsets"] = places
    return path


@dataclass(frozen=True)
class Maker:
    """Writes the same images, each pixel `zoom` times in both directions, with names and checksums."""

    tally: Program
    folder: Path

    def __call__(self, name: str, samples: small.SmallSet, zoom: int = 1, names: list[str] | None = NAMES) -> Path:
        plain = self.folder / f"{name}-plain.h5"
        images = samples.images.repeat(zoom, axis=1).repeat(zoom, axis=2)
        size, count = small.HEIGHT * zoom, len(images)
        with DataSetWriter(plain, task="multiclass", num_classes=small.NUM_CLASSES, num_samples=count, rows_per_block=16) as out:
            out.add_image(height=size, width=size, encoding=small.ENCODING, data=images)
            out.add_target("label", samples.labels)
            for group, codes in samples.groups.items():
                out.add_group(group, codes)
        if names is None:
            return plain
        write_names(plain, names)
        checked = self.folder / f"{name}.h5"
        self.tally("inspect", plain, "--add-checksums", checked).must_succeed()
        return checked


@pytest.fixture(scope="module")
def make(tally: Program, tmp_path_factory: pytest.TempPathFactory) -> Maker:
    return Maker(tally, tmp_path_factory.mktemp("sets"))


@dataclass(frozen=True)
class Pair:
    """One model on small images, another on large ones of the same samples."""

    models: tuple[Path, Path]
    data: tuple[Path, Path]
    results: tuple[Result, Result]


@pytest.fixture(scope="module")
def pair(make: Maker, evaluate: Evaluate) -> Pair:
    models = (
        small.save_model(small.TinyNet(), make.folder / "a.pt"),
        small.save_model(Tilted(0.4), make.folder / "b.pt"),
    )
    groups = {"site": np.arange(small.NUM_SAMPLES) % 2}
    data = make("small", small.make_set()), make("large", replace(small.make_set(), groups=groups), zoom=2)
    a, b = (evaluate(model, file) for model, file in zip(models, data, strict=True))
    return Pair(models, data, (a, b))


def test_the_same_samples_prepared_differently_are_compared(tally: Program, pair: Pair) -> None:
    a, b = pair.results
    of_a, of_b = (run.report["inputs"]["data"] for run in pair.results)
    assert of_a["identity"] != of_b["identity"]
    assert of_a["samples"] == of_b["samples"] and len(of_a["samples"]) == 64
    with h5py.File(b.folder / "predictions.h5") as file:
        assert file.attrs["data_samples"].decode() == of_a["samples"]
    text = tally("compare", a.folder, b.folder).must_succeed().stdout
    note = f"A and B are of the same samples, prepared differently: B's data set is {pair.data[1]}"
    assert f"note: {note}\n" in text
    found = json.loads(tally("compare", a.folder, b.folder, "--json", "-", "--changed", 1000).must_succeed().stdout)
    assert found["notes"] == [note]
    assert found["data"]["identity"] == of_a["identity"]
    changed = found["changes"]["first"]
    assert len(changed) > 5
    assert all(change["sample_name"] == NAMES[change["index"]] for change in changed)
    assert f"  sample {changed[0]['index']} '{NAMES[changed[0]['index']]}', label " in text
    right = [small.columns(run.folder / "predictions.h5") for run in pair.results]
    expected = [(run["prediction"] == run["label"]).mean() for run in right]
    assert [found["metrics"]["accuracy"][side] for side in "ab"] == pytest.approx(expected, rel=1e-12)


def test_names_come_from_either_data_set(tally: Program, pair: Pair, make: Maker, evaluate: Evaluate) -> None:
    moved = pair.data[0].rename(pair.data[0].with_suffix(".moved"))
    try:
        found = json.loads(tally("compare", *(run.folder for run in pair.results), "--json", "-").must_succeed().stdout)
    finally:
        moved.rename(pair.data[0])
    assert found["changes"]["first"][0]["sample_name"] == NAMES[found["changes"]["first"][0]["index"]]
    # Without names there are none.
    plain = make("unnamed", small.make_set(), names=None)
    runs = [evaluate(model, plain).folder for model in pair.models]
    found = json.loads(tally("compare", *runs, "--json", "-").must_succeed().stdout)
    assert found["notes"] == [] and found["changes"]["first"][0]["sample_name"] is None
    assert "samples" not in small.report(runs[0])["inputs"]["data"]


def test_other_samples_stay_refused(tally: Program, pair: Pair, make: Maker, evaluate: Evaluate) -> None:
    samples = small.make_set()
    labels = samples.labels.copy()
    labels[50] = (labels[50] + 1) % 3
    others = [
        make("labels", replace(samples, labels=labels), zoom=2),
        make("names", samples, zoom=2, names=[*NAMES[:-1], "another"]),
        make("order", samples, zoom=2, names=NAMES[::-1]),
        make("none", samples, zoom=2, names=None),
        pair.data[1].with_name("large-plain.h5"),  # names without checksums
    ]
    for data in others:
        other = evaluate(pair.models[1], data)
        run = tally("compare", pair.results[0].folder, other.folder)
        run.must_fail(3, "are not of the same samples: data_identity is", "one data set", "/samples/name")


def test_names_change_no_figures(pair: Pair, make: Maker, evaluate: Evaluate) -> None:
    """Nor does the number of ranks."""
    plain = evaluate(pair.models[0], make("plain", small.make_set(), names=None))
    three = evaluate(pair.models[0], pair.data[0], ranks=3)
    assert plain.digests == pair.results[0].digests == three.digests
    assert plain.report["metrics"] == three.report["metrics"]
    read = [sum(rank["bytes_read"] for rank in run.report["ranks"]) for run in (plain, pair.results[0])]
    assert read[0] == read[1]


def test_inspect_shows_names_from_any_folder(tally: Program, pair: Pair, tmp_path: Path) -> None:
    text = tally("inspect", pair.data[0]).must_succeed().stdout
    assert f"sample names: {NAMES[0]}, {NAMES[1]}, … and {small.NUM_SAMPLES - 2} more\n" in text
    assert "4 of 4 columns have checksums" in text
    tally("inspect", pair.data[0], "--verify").must_succeed()
    output = tmp_path / "run"
    data = Path("sets") / pair.data[0].name
    (tmp_path / "sets").symlink_to(pair.data[0].parent)
    tally("evaluate", "--model", pair.models[0], "--data", data, "--output", output, cwd=tmp_path).must_succeed()
    run = tally("inspect", output, "--worst", 3, cwd="/").must_succeed()
    assert run.stderr == ""
    lines = run.stdout.splitlines()
    assert lines[2].split()[:3] == ["index", "name", "label"]
    for line in lines[3:]:
        index, name = line.split(maxsplit=1)
        assert name.startswith(NAMES[int(index)] + " ")


def test_images_are_copied_by_name(tally: Program, pair: Pair, tmp_path: Path) -> None:
    folder = tmp_path / "images"
    for name in NAMES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    copies = tmp_path / "worst"
    words = ("--worst", 4, "--images", folder, "--copy-images", copies)
    text = tally("inspect", pair.results[0].folder, *words).must_succeed().stdout
    assert text.endswith(f"wrote '{copies}': 4 images\n")
    shown = [int(line.split()[0]) for line in text.splitlines()[3:-1]]
    found = sorted(copies.iterdir())
    assert [file.name for file in found] == [f"{i + 1:04}_{n}_ä {n}.png" for i, n in enumerate(shown)]
    assert [file.read_text() for file in found] == [NAMES[n] for n in shown]
    tally("inspect", pair.results[0].folder, *words).must_fail(6, "worst' exists and is no empty folder")
    (folder / NAMES[shown[2]]).unlink()
    again = (*words[:-1], tmp_path / "again")
    tally("inspect", pair.results[0].folder, *again).must_fail(2, "there is no file", f"as sample {shown[2]} is named")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["images", "worst"]


@pytest.mark.parametrize("offset", [-1, 2**62, -(2**63)])
def test_hostile_offsets(offset: int, tally: Program, pair: Pair, evaluate: Evaluate, tmp_path: Path) -> None:
    """The loop reads no names, so that such a set can be evaluated; who asks for the names is told."""
    data = small.make_set().write(tmp_path / "bad.h5")
    write_names(data, NAMES, {1: offset})
    tally("inspect", data).must_fail(3, "/samples/name/offsets[1] =", "expected offsets that ascend")
    tally("inspect", data, "--verify").must_fail(3, "/samples/name/offsets[1] =")
    result = evaluate(pair.models[0], data)
    assert result.digests[0] == pair.results[0].digests[0]
    tally("inspect", result.folder, "--show", 1).must_fail(3, "/samples/name/offsets[1] =")
