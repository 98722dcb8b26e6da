# SPDX-License-Identifier: Apache-2.0
"""prepare_dataset: Hugging Face's datasets and WebDataset's tars, compared with what these packages themselves read."""

import io
import json
import sys
import tarfile
from itertools import pairwise
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image

from conftest import Tool

datasets = pytest.importorskip("datasets", reason="the package datasets is not installed: jobs/setup.sh --tests")
webdataset = pytest.importorskip("webdataset", reason="the package webdataset is not installed: jobs/setup.sh --tests")

NAME = "prepare_dataset"
NUM_ITEMS = 11
NAMES = ["cat", "dog", "owl"]
datasets.disable_progress_bars()


def encoded(index: int, kind: str = "PNG", turned: bool = False) -> bytes:
    image = Image.fromarray(np.random.default_rng(index).integers(0, 256, (6, 6, 3), np.uint8))
    exif = Image.Exif()
    if turned:
        exif[0x0112] = 6  # to be shown turned by 90 degrees
    out = io.BytesIO()
    image.save(out, kind, exif=exif)
    return out.getvalue()


@pytest.fixture(scope="module")
def dataset() -> object:
    features = datasets.Features({
        "image": datasets.Image(), "label": datasets.ClassLabel(names=NAMES), "row": datasets.List(datasets.Value("float32")),
        "grid": datasets.Array2D((2, 3), "int16"), "price": datasets.Value("float64"), "words": datasets.Value("string"),
    })  # fmt: skip
    rng = np.random.default_rng(0)
    return datasets.Dataset.from_dict(
        {
            "image": [{"bytes": encoded(index, "JPEG", index == 4), "path": f"{index}.jpg"} for index in range(NUM_ITEMS)],
            "label": [index % 3 for index in range(NUM_ITEMS)], "row": list(rng.random((NUM_ITEMS, 4), np.float32)),
            "grid": list(rng.integers(-9, 9, (NUM_ITEMS, 2, 3), np.int16)), "price": list(rng.random(NUM_ITEMS)),
            "words": ["a text"] * NUM_ITEMS,
        },
        features=features,
    )  # fmt: skip


@pytest.fixture(scope="module")
def saved(dataset: object, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """disk, dict, parquet (a folder of two splits, groups of four rows), one.parquet and plain.parquet of no features."""
    root = tmp_path_factory.mktemp("saved")
    dataset.save_to_disk(root / "disk", num_shards=2)
    datasets.DatasetDict({"train": dataset.select([0]), "test": dataset}).save_to_disk(root / "dict")
    (root / "parquet" / "data").mkdir(parents=True)
    for number in range(2):
        dataset.shard(2, number).to_parquet(root / "parquet" / "data" / f"test-{number:05d}-of-00002.parquet", batch_size=4)
    dataset.select([0]).to_parquet(root / "parquet" / "data" / "train-00000-of-00001.parquet")
    dataset.to_parquet(root / "one.parquet")
    table = dataset.with_format("arrow")[:]
    import pyarrow.parquet

    pyarrow.parquet.write_table(table.select(["image", "label"]).replace_schema_metadata(None), root / "plain.parquet")
    return root


def names_of(path: Path) -> list[str]:
    with h5py.File(path) as file:
        values, offsets = file["samples/name/values"][...].tobytes(), file["samples/name/offsets"][...]
        return [values[begin:end].decode() for begin, end in pairwise(offsets)]


def read(path: Path) -> dict[str, np.ndarray]:
    with h5py.File(path) as file:
        inputs = {name: column[...] for name, column in file["inputs"].items()}
        return inputs | ({"label": file["targets/label"][...]} if "targets" in file else {})


def class_names(path: Path) -> list[str] | None:
    with h5py.File(path) as file:
        return list(file["class_names"].asstr()) if "class_names" in file else None


FORMS = {"disk": [], "dict": ["--split", "test"], "parquet": ["--split", "test"], "one.parquet": [], "plain.parquet": []}


@pytest.mark.parametrize("form", FORMS)
def test_images_of_hugging_face(form: str, saved: Path, dataset: object, tmp_path: Path, succeed: Tool) -> None:
    options = ["--dataset", saved / form, *FORMS[form], "--workers", 1, "--part-rows", 4]
    succeed(NAME, *options, "--output", tmp_path / "a.h5")
    found = read(tmp_path / "a.h5")
    assert found.keys() == {"image", "label"} and found["label"].tolist() == dataset["label"]
    assert np.array_equal(found["image"], np.stack([np.asarray(image) for image in dataset["image"]]))
    assert names_of(tmp_path / "a.h5") == [f"{index}.jpg" for index in range(NUM_ITEMS)]
    assert class_names(tmp_path / "a.h5") == (None if form == "plain.parquet" else NAMES)


def test_columns_of_hugging_face(saved: Path, dataset: object, tmp_path: Path, succeed: Tool) -> None:
    for form in ("disk", "one.parquet"):
        options = ["--dataset", saved / form, "--input-column", "row", "grid", "--target-column", "price", "--float32"]
        succeed(NAME, *options, "--output", tmp_path / form, "--workers", 1)
        found, expected = read(tmp_path / form), dataset.with_format("numpy")[:]
        assert np.array_equal(found["row"], expected["row"]) and found["row"].dtype == np.float32
        assert np.array_equal(found["grid"], expected["grid"]) and found["grid"].dtype == np.int16
        assert np.array_equal(found["label"], expected["price"].astype(np.float32))


def test_processes_read_hugging_face(saved: Path, tmp_path: Path, succeed: Tool) -> None:
    for form in ("disk", "one.parquet"):
        for workers in (1, 2):
            options = ["--dataset", saved / form, "--workers", workers, "--part-rows", 3]
            succeed(NAME, *options, "--output", tmp_path / f"{form}{workers}.h5")
        assert (tmp_path / f"{form}1.h5").read_bytes() == (tmp_path / f"{form}2.h5").read_bytes()


HUGGING_FACE_FAULTS = [
    ("dict", [], 2, "give --split: '{}' has train, test"),
    ("dict", ["--split", "dev"], 2, "there is no split 'dev': '{}' has train, test"),
    ("parquet", [], 2, "give --split: '{}' has train, test"),
    ("disk", ["--split", "test"], 2, "is one dataset without splits"),
    ("disk", ["--input-column", "picture"], 2, "no column 'picture'; the columns are 'image', 'label', 'row', 'grid', 'price'"),
    ("disk", ["--target-column", "price"], 3, "item 0 ('0.jpg'): the target is float64"),
    ("disk", ["--input-column", "words"], 3, "item 0: 'words' is a str"),
    ("empty", [], 3, "is no dataset: expected tars, parquet files, or a folder that Dataset.save_to_disk wrote"),
    ("broken.parquet", [], 3, "is no parquet file, or damaged"),
]  # fmt: skip


@pytest.mark.parametrize(("form", "options", "code", "says"), HUGGING_FACE_FAULTS)
def test_faults_of_hugging_face(form: str, options: list, code: int, says: str, saved: Path, fail: Tool) -> None:
    (saved / "empty").mkdir(exist_ok=True)
    (saved / "broken.parquet").write_bytes(b"PAR1")
    fail(NAME, "--dataset", saved / form, *options, code=code, says=says.format(saved / form))


@pytest.mark.parametrize("splits", [[3], [{}], ["../disk"], ["/disk"], [".."], [], "test", None])
def test_names_of_splits_that_are_none(splits: object, saved: Path, tmp_path: Path, fail: Tool) -> None:
    (tmp_path / "dict").mkdir()
    (tmp_path / "disk").symlink_to(saved / "disk")
    (tmp_path / "dict" / "dataset_dict.json").write_text(json.dumps({"splits": splits}))
    fail(NAME, "--dataset", tmp_path / "dict", code=3, says="dataset_dict.json' names no splits, or not as folders beside it")


@pytest.mark.parametrize("form", ["disk", "one.parquet"])
def test_damaged_rows(form: str, dataset: object, tmp_path: Path, fail: Tool) -> None:
    """A path that is not UTF-8 any more; Arrow finds it when the row is read."""
    if form == "disk":
        dataset.save_to_disk(tmp_path / form)
    else:
        import pyarrow.parquet

        pyarrow.parquet.write_table(dataset.with_format("arrow")[:], tmp_path / form, compression="none")
    (path,) = [tmp_path / form] if form != "disk" else (tmp_path / form).glob("*.arrow")
    content = path.read_bytes()
    assert b"0.jpg" in content
    path.write_bytes(content.replace(b"0.jpg", b"\xff.jpg"))
    fail(NAME, "--dataset", tmp_path / form, code=3, says="the items 0 to 0 cannot be read: 'utf-8' codec can't decode")


def test_unknown_columns_are_asked_for(dataset: object, tmp_path: Path, fail: Tool) -> None:
    dataset.select_columns(["row", "price"]).save_to_disk(tmp_path / "disk")
    options = ["--dataset", tmp_path / "disk"]
    fail(NAME, *options, code=2, says="the target may be any of 'row', 'price': name it with --target-column")
    fail(NAME, *options, "--task", "predict", code=2, says="the input may be any of 'row', 'price'")


def test_the_package_is_asked_for(saved: Path, fail: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    fail(NAME, "--dataset", saved / "disk", code=5, says="datasets is not installed; run: pip install datasets")


def write_tar(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def vector(index: int) -> np.ndarray:
    return np.random.default_rng(index).random(4, np.float32)


def sample(index: int) -> dict[str, bytes]:
    out = io.BytesIO()
    np.save(out, vector(index))
    key = f"train.set/{index:03d}"
    return {
        f"{key}.jpg": encoded(index, "JPEG"), f"{key}.cls": str(index % 3).encode(),
        f"{key}.json": json.dumps({"age": index / 2}).encode(), f"{key}.row.npy": out.getvalue(),
    }  # fmt: skip


@pytest.fixture(scope="module")
def tars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tars")
    for number, indices in enumerate((range(4), range(4, 9), range(9, NUM_ITEMS))):
        files = {"__info__/about.json": b"{}"} if number == 0 else {}
        for index in indices:
            files |= sample(index)
        write_tar(root / f"val-{number:02d}.tar", files)
    return root


@pytest.mark.parametrize("pattern", ["", "val-{00..02}.tar", "val-{00,01,02}.tar", "val-*.tar"])
def test_images_of_tars(pattern: str, tars: Path, tmp_path: Path, succeed: Tool) -> None:
    succeed(NAME, "--dataset", tars / pattern, "--output", tmp_path / "a.h5", "--workers", 1, "--part-rows", 4)
    found = read(tmp_path / "a.h5")
    reference = list(webdataset.WebDataset(sorted(map(str, tars.iterdir())), shardshuffle=False).decode("pil"))
    assert names_of(tmp_path / "a.h5") == [one["__key__"] for one in reference]
    assert len(reference) == NUM_ITEMS and found["label"].tolist() == [one["cls"] for one in reference]
    assert np.array_equal(found["image"], np.stack([np.asarray(one["jpg"]) for one in reference]))


def test_columns_of_tars(tars: Path, tmp_path: Path, succeed: Tool) -> None:
    options = ["--dataset", tars, "--input-column", "row.npy", "--target-column", "json:age"]
    succeed(NAME, *options, "--output", tmp_path / "a.h5", "--workers", 2)
    found = read(tmp_path / "a.h5")
    assert np.array_equal(found["row.npy"], np.stack(list(map(vector, range(NUM_ITEMS)))))
    assert found["label"].tolist() == [index / 2 for index in range(NUM_ITEMS)]


def test_keys_are_those_of_webdataset(tars: Path) -> None:
    from tally_data.items import ColumnChoice
    from tally_data.webdataset_source import find_tars, open_web_dataset

    source = open_web_dataset(find_tars(str(tars)), ColumnChoice(None, None, True))
    reference = webdataset.WebDataset(sorted(map(str, tars.iterdir())), shardshuffle=False)
    assert [item.name for item in source.read(0, None)] == [one["__key__"] for one in reference]


TAR_FAULTS = [
    ({"a.jpg": encoded(0)}, [], 2, "the target may be any of 'jpg': name it with --target-column"),
    ({"a.jpg": encoded(0), "a.cls": b"cat"}, [], 3, "item 0 ('a'): 'cls' cannot be read"),
    ({"a.jpg": encoded(0), "a.cls": b"1", "b.jpg": encoded(1)}, [], 3, "item 1 ('b') has no 'cls', it has jpg"),
    ({"a.jpg": encoded(0), "a.cls": b"1", "b.jpg": b"no", "b.cls": b"0"}, [], 3, "item 1 ('b'): 'jpg' cannot be decoded"),
    ({"a.pth": b"", "a.cls": b"1"}, ["--input-column", "pth"], 3, "item 0 ('a'): 'pth' is of a kind that is not read"),
    ({"a.json": b"{}", "a.npy": b"x"}, ["--target-column", "json:x"], 3, "item 0 ('a'): 'npy' cannot be read"),
    ({"a.json": b"{}", "a.png": encoded(0)}, ["--target-column", "json:x"], 3, "item 0 ('a'): 'json' has no field 'x'"),
    ({"README": b""}, [], 3, "holds no files such as key.jpg and key.cls"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "options", "code", "says"), TAR_FAULTS)
def test_faults_of_tars(files: dict[str, bytes], options: list, code: int, says: str, tmp_path: Path, fail: Tool) -> None:
    tar = write_tar(tmp_path / "a.tar", files)
    fail(NAME, "--dataset", tar, "--workers", 1, *options, code=code, says=says)


def test_faults_of_patterns(tars: Path, tmp_path: Path, fail: Tool) -> None:
    fail(NAME, "--dataset", tars / "val-{00..03}.tar", code=3, says="val-03.tar', of '")
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        archive.add(tars / "val-00.tar", "a.tar")
    fail(NAME, "--dataset", tmp_path / "a.tar.gz", code=3, says="is a compressed tar")
