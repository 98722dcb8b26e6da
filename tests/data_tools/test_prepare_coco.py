# SPDX-License-Identifier: Apache-2.0
"""prepare_coco: what the JSON says of objects, pixels where the placement says, and each refusal."""

import copy
import importlib
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from PIL import Image
from pycocotools.coco import COCO
from small_coco import SIZES, annotations, write_coco, write_images

from conftest import Tool
from sample_names import sample_names

NAME = "prepare_coco"
Write = Callable[..., Path]
IDS = sorted(SIZES)


@pytest.fixture
def write(tmp_path: Path, succeed: Tool) -> Write:
    """write(*options, content=...) -> the data set file."""

    def run(*options: object, content: object = None) -> Path:
        source, output = write_coco(tmp_path / "in.json", content or annotations()), tmp_path / "out.h5"
        succeed(NAME, "--input", source, "--output", output, "--overwrite", *options)
        return output

    return run


def test_layout(write: Write) -> None:
    with h5py.File(write("--no-images")) as file:
        assert dict(file.attrs) == {"tally_schema": 1, "task": b"detection", "num_classes": 3}
        found: dict[str, tuple[str, tuple[int, ...]]] = {}
        file.visititems(lambda name, item: found.update(
            {name: (item.dtype.str, item.shape)} if isinstance(item, h5py.Dataset) else {}))  # fmt: skip
        assert list(file["class_names"].asstr()) == ["cat", "owl", "dog é"]
        sums = {name: found.pop(name) for name in list(found) if name.startswith("checksums/")}
        del found["class_names"]
        assert {name.removeprefix("checksums/") for name in sums} == set(found)
        assert found == {
            "inputs/index": ("<i8", (3,)),
            "images/id": ("<i8", (3,)),
            "images/placement": ("<f8", (3, 4)),
            "classes/id": ("<i8", (3,)),
            "objects/offsets": ("<i8", (4,)),
            "objects/box": ("<f8", (4, 4)),
            "objects/label": ("<i4", (4,)),
            "objects/crowd": ("|u1", (4,)),
            "objects/area": ("<f8", (4,)),
            "samples/name/values": ("|u1", (48,)),
            "samples/name/offsets": ("<i8", (4,)),
        }
        assert sample_names(file) == [f"{identity:012d}.png" for identity in IDS]
        assert file["inputs/index"][...].tolist() == [0, 1, 2]
        assert file["images/placement"][...].tolist() == [[1, 1, 0, 0]] * 3


def test_objects_are_those_of_the_file(write: Write) -> None:
    """By COCO's own reader, in its order."""
    path = write("--no-images")
    known = COCO(str(path.with_name("in.json")))
    with h5py.File(path) as file:
        assert file["images/id"][...].tolist() == IDS and file["classes/id"][...].tolist() == [3, 44, 90]
        offsets = file["objects/offsets"][...]
        classes = file["classes/id"][...]
        for row, identity in enumerate(IDS):
            own = slice(offsets[row], offsets[row + 1])
            theirs = known.loadAnns(known.getAnnIds(imgIds=[identity]))
            assert file["objects/box"][own].tolist() == [one["bbox"] for one in theirs]
            assert classes[file["objects/label"][own]].tolist() == [one["category_id"] for one in theirs]
            assert file["objects/crowd"][own].tolist() == [one.get("iscrowd", 0) for one in theirs]
            areas = [one.get("area", one["bbox"][2] * one["bbox"][3]) for one in theirs]
            assert file["objects/area"][own].tolist() == areas
        assert offsets.tolist() == [0, 1, 1, 4] and file["objects/area"][2] == 30  # missing in the file


@pytest.mark.parametrize(
    ("boxes", "says"),
    [
        ([[-1, -1, 42, 32], [0, 0, 41, 31]], None),  # image 30 is 40 wide and 30 high
        ([[0, 0, 41.5, 1], [0, 0, 1, 31]], "note: 1 box reaches more than a pixel beyond the image, the first in image 30"),
        ([[-2, 0, 1, 1], [0, 30, 1, 1.5]], "note: 2 boxes reach"),
        ([[0, -1.5, 1, 1], [200, 200, 0, 0]], "note: 2 boxes reach"),
    ],
)
def test_boxes_beyond_their_images(tmp_path: Path, succeed: Tool, boxes: list, says: str | None) -> None:
    content = annotations()
    del content["images"][2]["width"]  # of image 12, whose size is then not known
    content["annotations"] = [
        {"id": number, "image_id": image, "category_id": 3, "bbox": box}
        for number, (image, box) in enumerate([(12, [500, 0, 1, 1]), *((30, box) for box in boxes)])
    ]
    words = ["--input", write_coco(tmp_path / "in.json", content), "--output", tmp_path / "out.h5", "--no-images"]
    printed = succeed(NAME, *words).stdout
    assert "note" not in printed if says is None else says in printed, printed
    with h5py.File(tmp_path / "out.h5") as file:
        assert len(file["objects/box"]) == 3
    assert "note" not in succeed(NAME, *words, "--limit", 2, "--overwrite").stdout


@pytest.mark.parametrize("width", [True, 10**400])
def test_widths_that_are_none(tmp_path: Path, succeed: Tool, width: int) -> None:
    content = annotations()
    content["images"][2]["width"] = width
    words = ["--input", write_coco(tmp_path / "in.json", content), "--output", tmp_path / "out.h5", "--no-images"]
    assert "note" not in succeed(NAME, *words).stdout


def test_area_may_be_null(tmp_path: Path, succeed: Tool) -> None:
    (tmp_path / "in.json").write_text(json.dumps(with_object(area=None)))
    succeed(NAME, "--input", tmp_path / "in.json", "--no-images", "--output", tmp_path / "set.h5")
    with h5py.File(tmp_path / "set.h5") as file:
        assert file["objects/area"][2] == 30


def read_images(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with h5py.File(path) as file:
        return file["inputs/image"][...], file["images/placement"][...]


def test_padded(tmp_path: Path, write: Write) -> None:
    made = write_images(tmp_path / "set")
    images, placements = read_images(write("--images", tmp_path / "set", "--size", "50x40", "--pad", "1,2,3"))
    assert images.shape == (3, 50, 40, 3)
    sizes = {7: (25, 50), 12: (40, 40), 30: (40, 30)}  # width, height of what is not padding
    for image, placement, identity in zip(images, placements, IDS, strict=True):
        width, height = sizes[identity]
        expected = np.asarray(Image.fromarray(made[identity]).resize((width, height), Image.Resampling.BILINEAR))
        assert np.array_equal(image[:height, :width], expected)
        assert (image[height:] == [1, 2, 3]).all() and (image[:, width:] == [1, 2, 3]).all()
        assert placement.tolist() == [SIZES[identity][0] / width, SIZES[identity][1] / height, 0, 0]
    assert np.array_equal(images[2, :30, :40], made[30])  # that fits as it is


def test_stretched(tmp_path: Path, write: Write) -> None:
    made = write_images(tmp_path / "set")
    options = ["--size", "30x40", "--fit", "stretch", "--interpolation", "bicubic", "--channels", "BGR"]
    images, placements = read_images(write("--images", tmp_path / "set", *options))
    for image, placement, identity in zip(images, placements, IDS, strict=True):
        expected = Image.fromarray(made[identity]).resize((40, 30), Image.Resampling.BICUBIC)
        assert np.array_equal(image, np.asarray(expected)[..., ::-1])
        width, height = SIZES[identity]
        assert placement.tolist() == [width / 40, height / 30, 0, 0]


def test_very_long_images_keep_a_row(tmp_path: Path, write: Write) -> None:
    content = annotations()
    content["images"] = [{"id": 30, "file_name": "long.png", "width": 500, "height": 1}]
    content["annotations"] = []
    (tmp_path / "set").mkdir()
    Image.new("RGB", (500, 1), "white").save(tmp_path / "set" / "long.png")
    path = write("--images", tmp_path / "set", "--size", "8x8", content=content)
    images, placements = read_images(path)
    assert images[0].tolist() == [[[255] * 3] * 8] + [[[0] * 3] * 8] * 7
    assert placements.tolist() == [[500 / 8, 1, 0, 0]]
    with h5py.File(path) as file:
        assert file["objects/offsets"][...].tolist() == [0, 0] and file["objects/box"].shape == (0, 4)
        assert file["checksums/objects/box"].shape == (0,)


def test_tar_workers_and_limit(tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write_images(tmp_path / "val")
    options = ["--size", "16x16"]
    folder = write("--images", tmp_path / "val", *options, "--workers", 1).read_bytes()
    with tarfile.open(tmp_path / "val.tar", "w") as archive:
        archive.add(tmp_path / "val", "val")
    monkeypatch.setattr(importlib.import_module(NAME), "IMAGES_PER_CHUNK", 1)
    assert write("--images", tmp_path / "val.tar", *options, "--workers", 2).read_bytes() == folder
    with h5py.File(write("--images", tmp_path / "val", *options, "--limit", 2)) as file:
        assert file["inputs/image"].shape == (2, 16, 16, 3)
        assert file["images/id"][...].tolist() == [7, 12] and file["objects/offsets"][...].tolist() == [0, 1, 1]
        assert len(file["objects/box"]) == 1 and len(file["classes/id"]) == 3


def test_where_images_lie(tmp_path: Path, write: Write, fail: Tool) -> None:
    """A file's path may be longer than the name in the JSON, or shorter; of two that fit the equal one wins."""
    image = {"id": 1, "file_name": "a/x.png", "width": 5, "height": 4}
    content = annotations() | {"images": [image], "annotations": []}
    source, images = tmp_path / "in.json", tmp_path / "set"

    def make(name: str, color: str) -> None:
        (images / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (5, 4), color).save(images / name)

    def stored() -> list[int]:
        return read_images(write("--images", images, "--size", "4x5", content=content))[0][0, 0, 0].tolist()

    make("b/x.png", "red")
    write_coco(source, content)
    words = ["--input", source, "--images", images, "--size", "4x5"]
    fail(NAME, *words, code=3, says="image 'a/x.png' (images[0]) is not in")
    make("x.png", "lime")
    assert stored() == [0, 255, 0]
    make("val/a/x.png", "blue")
    fail(NAME, *words, code=3, says="more than once: 'x.png' and 'val/a/x.png'")
    make("a/x.png", "white")
    assert stored() == [255, 255, 255]


def changed(change: Callable[[dict], object]) -> dict:
    content = copy.deepcopy(annotations())
    change(content)
    return content


def with_object(**values: Any) -> dict:
    """The third annotation, changed."""
    return changed(lambda content: content["annotations"][2].update(values))


BAD_FILES = [
    ([], "is not in COCO's form: the top has no 'images' that is a list"),
    (changed(lambda content: content.pop("annotations")), "the top has no 'annotations' that is a list"),
    (changed(lambda content: content.update(categories={})), "the top has no 'categories' that is a list"),
    (changed(lambda content: content.update(images=[], annotations=[])), "holds no image"),
    (changed(lambda content: content.update(categories=[], annotations=[])), "holds no category"),
    (changed(lambda content: content["images"][2].update(id=30)), "images[2] has the id 30 that images[0] has already"),
    (changed(lambda content: content["categories"][1].update(id=44)), "categories[1] has the id 44 that categories[0]"),
    (with_object(id=5), "annotations[2] has the id 5 that annotations[0] has already"),
    (changed(lambda content: content["categories"][1].update(name="")), "categories[1] has the name ''"),
    (changed(lambda content: content["categories"][1].update(name=3)), "categories[1] has no 'name' that is text"),
    (changed(lambda content: content["images"].append("x")), "images[3] has no 'id' that is a whole number"),
    (changed(lambda content: content["images"][1].update(id="7")), "images[1] has no 'id' that is a whole number"),
    (changed(lambda content: content["images"][1].update(id=2**63)), "images[1] has no 'id' that is a whole number"),
    (with_object(id=True), "annotations[2] has no 'id' that is a whole number"),
    (with_object(image_id=8), "annotations[2] is of image 8, which the file does not hold"),
    (with_object(category_id=8), "annotations[2] is of category 8, which the file does not hold"),
    (with_object(bbox=None), "annotations[2] has no 'bbox' that is a list"),
    (with_object(bbox=[1, 2, 3]), "annotations[2] has a 'bbox' of 3 numbers"),
    (with_object(bbox=[1, 2, "3", 4]), "annotations[2] has a 'bbox' with a value that is no finite number"),
    (with_object(bbox=[1, 2, float("nan"), 4]), "annotations[2] has a 'bbox' with a value that is no finite number"),
    (with_object(bbox=[1, 10**400, 2, 4]), "annotations[2] has a 'bbox' with a value that is no finite number"),
    (with_object(bbox=[1, 2, -3, 4]), "annotations[2] has a 'bbox' -3 wide and 4 high"),
    (with_object(bbox=[1, 2, 3, -4]), "annotations[2] has a 'bbox' 3 wide and -4 high"),
    (with_object(area=float("inf")), "annotations[2] has an 'area' that is no finite number"),
    (with_object(area=-1), "annotations[2] has the area -1"),
    (with_object(iscrowd=2), "annotations[2] has iscrowd = 2, expected 0 or 1"),
]


@pytest.mark.parametrize(("content", "says"), BAD_FILES)
def test_bad_files(tmp_path: Path, fail: Tool, content: object, says: str) -> None:
    source = tmp_path / "in.json"
    source.write_text(json.dumps(content))
    fail(NAME, "--input", source, "--no-images", code=3, says=says)


def test_bad_images(tmp_path: Path, fail: Tool) -> None:
    source, images = tmp_path / "in.json", tmp_path / "set"
    words = ["--input", source, "--images", images, "--size", "8x8", "--workers", 1]
    fail(NAME, *words, code=3, says="in.json' does not exist")
    source.write_text("{")
    fail(NAME, *words, code=3, says="in.json' is not a JSON file")
    for key, value, says in (
        ("width", "5", "images[1] has no 'width' that is a whole number"),
        ("height", 0, "images[1] is 25 pixels wide and 0 high"),
        ("file_name", None, "images[1] has no 'file_name' that is text"),
    ):
        write_coco(source, changed(lambda content: content["images"][1].update({key: value})))
        fail(NAME, *words, code=3, says=says)
    write_coco(source, annotations())
    fail(NAME, *words, code=3, says="set' does not exist")
    write_images(images)
    Image.new("RGB", (64, 63)).save(images / "000000000012.png")
    fail(NAME, *words, code=3, says="image '000000000012.png' is 63x64 (height x width), images[2] says 64x64")
    (images / "000000000012.png").write_bytes(b"junk")
    fail(NAME, *words, code=3, says="image '000000000012.png' cannot be decoded")
    (images / "000000000012.png").unlink()
    fail(NAME, *words, code=3, says="image '000000000012.png' (images[2]) is not in")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--no-imags"], "unknown option '--no-imags', did you mean '--no-images'? see --help"),
        (["--image=x"], "unknown option '--image', did you mean '--images'? see --help"),
        (["--no-images", "--xyzzy", "1"], "unknown option '--xyzzy'; see --help"),
        (["--no-images", "a", "b"], "unrecognized arguments: a b; see --help"),
        ([], "one of the arguments --images --no-images is required"),
        (["--images", "."], "--images needs --size HxW"),
        (["--images", ".", "--size", "8"], "'8' is not a height and a width such as 480x640"),
        (["--images", ".", "--size", "8x0"], "'8x0' is not a height and a width"),
        (["--images", ".", "--size", "8x8", "--pad", "1,2"], "--pad is 3 values of 0 to 255"),
        (["--images", ".", "--size", "8x8", "--pad", "256"], "--pad is 3 values of 0 to 255"),
        (["--images", ".", "--size", "8x8", "--pad", "-1,2,3"], "--pad"),
        (["--no-images", "--size", "8x8"], "--size is for --images"),
        (["--no-images", "--mean", "1"], "--mean is for --images"),
    ],
)
def test_usage_faults(tmp_path: Path, fail: Tool, options: list[str], says: str) -> None:
    fail(NAME, "--input", write_coco(tmp_path / "in.json", annotations()), *options, code=2, says=says)
