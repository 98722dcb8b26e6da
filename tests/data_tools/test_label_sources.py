# SPDX-License-Identifier: Apache-2.0
"""prepare_imagefolder: zip files, and labels as ImageNet's distributors have them, against torchvision's reader."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat
from torchvision.datasets import imagenet

from conftest import Tool
from test_prepare_imagefolder import NAME, NAMES, make_images, read

SYNSETS = ["n01440764", "n01443537", "n02099601", "n03995372"]
WORDS = ["tench, Tinca tinca", "goldfish, Carassius auratus", "golden retriever", "power drill"]
KIT_NUMBERS = [3, 1, 4, 2]  # of these synsets
VAL = [f"ILSVRC2012_val_{number:08}.png" for number in range(1, 7)]
TRUTH = [4, 1, 2, 2, 3, 4]  # the kit's numbers, of images 1 to 6


def zipped(root: Path, path: Path, method: int = zipfile.ZIP_DEFLATED, top: str = "") -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for file in sorted(root.rglob("*")):
            archive.write(file, f"{top}{file.relative_to(root)}")
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_zip_file_is_its_folder(tmp_path: Path, succeed: Tool, method: int) -> None:
    root = tmp_path / "set"
    make_images(root, NAMES)
    succeed(NAME, "--input", root, "--output", tmp_path / "folder.h5", "--workers", 1)
    for number, top in enumerate(("", "val/")):
        archive = zipped(root, tmp_path / f"{number}.zip", method, top)
        with zipfile.ZipFile(archive, "a") as more:
            more.mkdir("__MACOSX")
            more.writestr("__MACOSX/a/._w.png", b"no image")
        done = succeed(NAME, "--input", archive, "--output", tmp_path / f"{number}.h5", "--workers", 2)
        assert (tmp_path / f"{number}.h5").read_bytes() == (tmp_path / "folder.h5").read_bytes()
        assert "note: hidden images are left out: 1" in done.stdout


def test_faults_of_zip_files(tmp_path: Path, fail: Tool) -> None:
    make_images(tmp_path / "set", ["a/1.png", "b/2.png"])

    def refuse(path: Path, says: str) -> None:
        fail(NAME, "--input", path, "--output", tmp_path / "x.h5", code=3, says=says)

    refuse(zipped(tmp_path / "set", tmp_path / "bz.zip", zipfile.ZIP_BZIP2), "compressed by bzip2, expected stored or deflated")
    whole = zipped(tmp_path / "set", tmp_path / "a.zip").read_bytes()
    (tmp_path / "cut.zip").write_bytes(whole[: len(whole) // 2])
    refuse(tmp_path / "cut.zip", "is a damaged zip file")
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        entry = archive.getinfo("b/2.png")
    at = entry.header_offset + 30 + len("b/2.png") + entry.compress_size // 2
    (tmp_path / "bits.zip").write_bytes(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :])
    refuse(tmp_path / "bits.zip", "image 'b/2.png' in")
    central = whole.rindex(b"PK\x01\x02")
    (tmp_path / "locked.zip").write_bytes(whole[: central + 8] + b"\x01" + whole[central + 9 :])
    refuse(tmp_path / "locked.zip", "is encrypted: unpack it first")
    (tmp_path / "name.zip").write_bytes(whole[: central + 9] + b"\x08" + whole[central + 10 :].replace(b"b/2", b"\xff/2"))
    refuse(tmp_path / "name.zip", "is a damaged zip file")
    (tmp_path / "new.zip").write_bytes(whole[: central + 6] + b"\xff" + whole[central + 7 :])
    refuse(tmp_path / "new.zip", "is a damaged zip file")
    (tmp_path / "none.zip").write_bytes(b"PK\x05\x06" + bytes(18))
    refuse(tmp_path / "none.zip", "holds no image file")


@pytest.fixture
def synset_names(tmp_path: Path) -> Path:
    path = tmp_path / "LOC_synset_mapping.txt"
    path.write_text("".join(f"{synset} {words}\n" for synset, words in zip(SYNSETS, WORDS, strict=True)))
    return path


def test_labels_of_kaggle(tmp_path: Path, succeed: Tool, fail: Tool, synset_names: Path) -> None:
    make_images(tmp_path / "val", VAL[:3])
    csv = tmp_path / "LOC_val_solution.csv"
    csv.write_text(
        "ImageId,PredictionString\n"
        "ILSVRC2012_val_00000002,n03995372 85 1 499 272 \n"
        "ILSVRC2012_val_00000001,n02099601 0 1 2 3 n02099601 4 5 6 7 \n"
        "ILSVRC2012_val_00000003,n01440764 1 2 3 4 \n"
    )
    out = tmp_path / "a.h5"
    succeed(NAME, "--input", tmp_path / "val", "--labels", csv, "--class-names", synset_names, "--output", out)
    _, labels, names = read(out)
    assert labels == [2, 3, 0] and names == [f"{synset} {words}" for synset, words in zip(SYNSETS, WORDS, strict=True)]
    fail(NAME, "--input", tmp_path / "val", "--labels", csv, code=3, says="labels that are names need --class-names")
    csv.write_text("a,n01440764\nILSVRC2012_val_00000001,n01443537\nb,n01440764\n")
    make_images(tmp_path / "one", VAL[:1])
    succeed(NAME, "--input", tmp_path / "one", "--labels", csv, "--class-names", synset_names, "--output", tmp_path / "b.h5")
    assert read(tmp_path / "b.h5")[1] == [1]


@pytest.mark.parametrize("boxes", ["n01440764 1 2 3 4 n01443537 1 2 3 4", "n01440764 1 2 3", "n99999999 1 2 3 4"])
def test_boxes_that_are_no_label(tmp_path: Path, fail: Tool, synset_names: Path, boxes: str) -> None:
    make_images(tmp_path / "val", VAL[:1])
    (tmp_path / "labels.csv").write_text(f"ImageId,PredictionString\nILSVRC2012_val_00000001,{boxes}\n")
    fail(NAME, "--input", tmp_path / "val", "--labels", tmp_path / "labels.csv", "--class-names", synset_names, code=3,
         says="line 2:")  # fmt: skip


def test_folders_that_are_synsets(tmp_path: Path, succeed: Tool, synset_names: Path) -> None:
    """In the order of the file, whatever it is."""
    synset_names.write_text("".join(reversed(synset_names.read_text().splitlines(keepends=True))))
    make_images(tmp_path / "val", [f"{synset}/1.png" for synset in SYNSETS])
    done = succeed(NAME, "--input", tmp_path / "val", "--class-names", synset_names, "--output", tmp_path / "a.h5")
    _, labels, names = read(tmp_path / "a.h5")
    assert labels == [3, 2, 1, 0] and names[0] == "n03995372 power drill"
    assert "classes in the order of the file: 0 n03995372 (n03995372 power drill)" in done.stdout


def test_folders_that_begin_with_synsets(tmp_path: Path, succeed: Tool) -> None:
    """Their whole names are in the file."""
    folders = [f"{synset} {words}" for synset, words in zip(SYNSETS, WORDS, strict=True)][::-1]
    (tmp_path / "names").write_text("\n".join(folders))
    make_images(tmp_path / "val", [f"{folder}/1.png" for folder in folders])
    done = succeed(NAME, "--input", tmp_path / "val", "--class-names", tmp_path / "names", "--output", tmp_path / "a.h5")
    assert read(tmp_path / "a.h5")[1] == [3, 2, 1, 0] and "classes in the order of the file" in done.stdout


@pytest.fixture
def devkit(tmp_path: Path) -> Path:
    """Four classes, and one that they belong to."""
    folder = tmp_path / "ILSVRC2012_devkit_t12"
    (folder / "data").mkdir(parents=True)
    (folder / imagenet_truth()).write_text("".join(f"{number}\n" for number in TRUTH))
    kind = [("ILSVRC2012_ID", "O"), ("WNID", "O"), ("words", "O"), ("gloss", "O"), ("num_children", "O"), ("children", "O"),
            ("wordnet_height", "O"), ("num_train_images", "O")]  # fmt: skip
    rows = [(number, synset, words, "a thing", 0, [], 0, 1300)
            for number, synset, words in sorted(zip(KIT_NUMBERS, SYNSETS, WORDS, strict=True))]  # fmt: skip
    rows.append((5, "n00001740", "entity", "all", 4, KIT_NUMBERS, 9, 0))
    savemat(folder / "data" / "meta.mat", {"synsets": np.array([rows], dtype=kind).T})
    return folder


def imagenet_truth() -> str:
    return "data/ILSVRC2012_validation_ground_truth.txt"


def test_labels_of_the_devkit(tmp_path: Path, succeed: Tool, devkit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_images(tmp_path / "val", [*VAL[:4], VAL[5]])
    succeed(NAME, "--input", tmp_path / "val", "--labels", devkit, "--output", tmp_path / "a.h5")
    _, labels, names = read(tmp_path / "a.h5")
    # torchvision's reader of the kit, without the archive that it comes in.
    monkeypatch.setattr(imagenet, "_verify_archive", lambda *_: None)
    monkeypatch.setattr(imagenet, "extract_archive", lambda _, to: (Path(to) / devkit.name).symlink_to(devkit))
    imagenet.parse_devkit_archive(tmp_path)
    to_words, truth = imagenet.load_meta_file(tmp_path)
    order = sorted(to_words)  # as ImageFolder numbers the folders
    assert labels == [order.index(truth[image]) for image in (0, 1, 2, 3, 5)]
    assert names == [f"{synset} {', '.join(to_words[synset])}" for synset in order]


def test_faults_of_the_devkit(tmp_path: Path, fail: Tool, devkit: Path) -> None:
    def refuse(says: str) -> None:
        fail(NAME, "--input", tmp_path / "val", "--labels", devkit, "--output", tmp_path / "x.h5", code=3, says=says)

    make_images(tmp_path / "val", VAL)
    (devkit / imagenet_truth()).write_text("1\n2\n9\n1\n2\n1\n")
    refuse("line 3: 9 is no class of")
    (devkit / imagenet_truth()).write_text("1\n2\n")
    refuse("'ILSVRC2012_val_00000003.png' is none of the 2 of")
    (devkit / imagenet_truth()).write_text("x\n")
    refuse("is no list of numbers of classes")
    (devkit / "data" / "meta.mat").write_bytes(b"junk")
    refuse("does not list ImageNet's synsets")
    (devkit / "data" / "meta.mat").unlink()
    refuse("is no development kit of ImageNet: it has no data/meta.mat")


def test_images_that_the_devkit_does_not_name(tmp_path: Path, fail: Tool, devkit: Path) -> None:
    words = ["--labels", devkit, "--output", tmp_path / "x.h5"]
    make_images(tmp_path / "a", ["ILSVRC2010_val_00000001.png", VAL[1]])
    fail(NAME, "--input", tmp_path / "a", *words, code=3, says="'ILSVRC2010_val_00000001.png' is none of the 6 of")
    make_images(tmp_path / "b", [f"x/{VAL[0]}", f"y/{VAL[0]}"])
    fail(NAME, "--input", tmp_path / "b", *words, code=3, says="are the same image of ImageNet")
    fail(NAME, "--input", tmp_path / "b", "--class-names", tmp_path / "names", *words, code=2, says="--class-names does not go")
