# SPDX-License-Identifier: Apache-2.0
"""Broken image files: all are listed, in order, by any number of workers; --skip-broken leaves them out."""

import importlib
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image
from tally_data.decode import DecodeRule, Shape, decode_chunk, first_shape
from tally_data.errors import DataError
from tally_data.image_files import ImageFile

from conftest import Tool
from sample_names import sample_names
from small_coco import annotations, write_coco, write_images
from test_prepare_imagefolder import make_images, read

NAME = "prepare_imagefolder"
WORKERS = [1, 2]
NOT_DECODED = "cannot be decoded: it is damaged or no image"


@pytest.fixture(params=WORKERS)
def words(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Of a folder of 28 images, which are decoded in chunks of two."""
    monkeypatch.setattr(importlib.import_module(NAME), "IMAGES_PER_CHUNK", 2)
    make_images(tmp_path / "set", [f"{folder}/{number:02}.png" for folder in "ab" for number in range(14)])
    return ["--input", tmp_path / "set", "--workers", request.param]


def spoil(root: Path, *names: str) -> list[str]:
    for name in names:
        (root / name).write_bytes(b"junk")
    return [f"image '{name}' {NOT_DECODED}" for name in names]


def test_all_are_listed_in_order(tmp_path: Path, fail: Tool, words: list[object]) -> None:
    root = tmp_path / "set"
    whys = spoil(root, "b/03.png", "a/05.png", "a/04.png")[::-1]
    fail(NAME, *words, code=3, says=f"3 of 28 images are broken: {'; '.join(whys)}; replace them, or")
    whys = spoil(root, *(f"a/{number:02}.png" for number in range(12)))
    done = fail(NAME, *words, code=3, says=f"13 of 28 images are broken: {'; '.join(whys[:10])}; … and 3 more; replace them")
    assert "wrote" not in done.stdout


def test_skipped(tmp_path: Path, succeed: Tool, words: list[object]) -> None:
    root, labels = tmp_path / "set", tmp_path / "labels.csv"
    names = [f"{folder}/{number:02}.png" for folder in "ab" for number in range(14)]
    labels.write_text("".join(f"{name},{number % 5}\n" for number, name in enumerate(names)))
    succeed(NAME, *words, "--labels", labels, "--output", tmp_path / "all.h5", "--skip-broken")
    broken = ["a/00.png", "a/07.png", "b/13.png"]
    whys = spoil(root, *broken)
    done = succeed(NAME, *words, "--labels", labels, "--output", tmp_path / "a.h5", "--skip-broken")
    assert f"note: 3 of 28 images are broken and left out: {'; '.join(whys)}\n" in done.stdout
    assert "25 images 5x6 RGB, 5 classes" in done.stdout
    kept = [number for number, name in enumerate(names) if name not in broken]
    before, after = read(tmp_path / "all.h5"), read(tmp_path / "a.h5")
    assert np.array_equal(after[0], before[0][kept]) and after[1] == [number % 5 for number in kept]
    with h5py.File(tmp_path / "a.h5") as file:
        assert sample_names(file) == [names[number] for number in kept]


def test_none_left(tmp_path: Path, fail: Tool, words: list[object]) -> None:
    spoil(tmp_path / "set", *(f"{folder}/{number:02}.png" for folder in "ab" for number in range(14)))
    fail(NAME, *words, "--skip-broken", code=3, says=f"all 28 images are broken: image 'a/00.png' {NOT_DECODED}; image")
    fail(NAME, *words, code=3, says="28 of 28 images are broken: image 'a/00.png'")


def test_a_file_that_cannot_be_read_is_not_broken(tmp_path: Path) -> None:
    """Its content may be whole: that ends the tool at once, with --skip-broken as well."""
    file = ImageFile("a.png", str(tmp_path / "gone.png"), 0, 5)
    with pytest.raises(DataError, match="gone.png' does not exist"):
        decode_chunk([file], DecodeRule("RGB"), Shape((5, 6, 3), "b.png"))
    with pytest.raises(DataError, match="gone.png' does not exist"):
        first_shape([file], DecodeRule("RGB"))


def test_damaged_members_of_an_archive(tmp_path: Path, succeed: Tool) -> None:
    make_images(tmp_path / "set", ["a/1.png", "b/2.png"])
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as archive:
        for name in ("a/1.png", "b/2.png"):
            archive.write(tmp_path / "set" / name, name)
        at = archive.getinfo("b/2.png").header_offset + 60
    content = bytearray((tmp_path / "set.zip").read_bytes())
    content[at] ^= 255
    (tmp_path / "set.zip").write_bytes(content)
    options = ["--input", tmp_path / "set.zip", "--output", tmp_path / "a.h5", "--skip-broken", "--workers", 1]
    done = succeed(NAME, *options)
    assert "note: 1 of 2 images are broken and left out: image 'b/2.png' in" in done.stdout
    assert "is damaged: its checksum is another" in done.stdout


def test_clipped_images_are_told(tmp_path: Path, succeed: Tool, words: list[object]) -> None:
    deep = np.full((5, 6), 40_000, np.uint16)
    for name in ("b/02.png", "a/03.png"):
        Image.fromarray(deep).save(tmp_path / "set" / name)
    Image.fromarray(deep // 400).save(tmp_path / "set" / "a" / "04.png")
    done = succeed(NAME, *words, "--output", tmp_path / "a.h5")
    assert "note: 2 of 28 images have more than 8 bits per channel, and their values are clipped to 0..255" in done.stdout
    assert "the first is 'a/03.png'\n" in done.stdout
    images, _, _ = read(tmp_path / "a.h5")
    assert (images[3] == 255).all() and (images[4] == 100).all()


@pytest.mark.parametrize("workers", WORKERS)
def test_objects_in_broken_images(
    tmp_path: Path, succeed: Tool, fail: Tool, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setattr(importlib.import_module("prepare_coco"), "IMAGES_PER_CHUNK", 1)
    write_images(tmp_path / "set")
    source = write_coco(tmp_path / "in.json", annotations())
    options = ["--input", source, "--images", tmp_path / "set", "--size", "8x8", "--workers", workers]
    whys = spoil(tmp_path / "set", "000000000007.png", "000000000030.png")
    fail("prepare_coco", *options, code=3, says=f"2 of 3 images are broken: {'; '.join(whys)}; replace them")
    spoil(tmp_path / "set", "000000000012.png")
    fail("prepare_coco", *options, "--skip-broken", code=3, says="all 3 images are broken")
    write_images(tmp_path / "set")
    spoil(tmp_path / "set", "000000000007.png")
    done = succeed("prepare_coco", *options, "--skip-broken", "--output", tmp_path / "a.h5")
    assert f"note: 1 of 3 images are broken and left out: {whys[0]}\n" in done.stdout
    assert "2 images 8x8, 3 objects of 3 classes" in done.stdout
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["images/id"][...].tolist() == [12, 30] and file["objects/offsets"][...].tolist() == [0, 0, 3]
        assert sample_names(file) == ["000000000012.png", "000000000030.png"]
    options = ["--input", source, "--no-images", "--skip-broken"]
    fail("prepare_coco", *options, code=2, says="--skip-broken is for --images")
