# SPDX-License-Identifier: Apache-2.0
"""prepare_imagefolder: which class a folder becomes, and what is left out of the folders."""

import re
import tarfile
from pathlib import Path

import h5py
import pytest
from PIL import Image
from timm.data.readers import reader_image_folder
from torchvision import datasets

from conftest import Tool

NAME = "prepare_imagefolder"
FOLDERS = ["Boat", "apple", "cat10", "cat9", "zebra"]
OWN_ORDER = ["zebra", "apple", "Boat", "cat10", "cat9"]
TITLES = ["vessel", "fruit", "tenth", "ninth", "horse"]


def place(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (2, 2)).save(root / name)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Of the k-th folder k + 1 images, so that counts of labels say which class it became."""
    folder = tmp_path / "set"
    for number, name in enumerate(FOLDERS):
        place(folder, *(f"{name}/{image}.png" for image in range(number + 1)))
    return folder


def lines(path: Path, names: list[str]) -> Path:
    path.write_text("\n".join(names) + "\n")
    return path


def read(path: Path) -> tuple[list[str], list[str], str | None]:
    """The folder of each class, by its number of images; class names; the rule."""
    with h5py.File(path) as file:
        labels = file["targets/label"][...].tolist()
        names = list(file["class_names"].asstr())
        rule = file.attrs["class_order"].decode() if "class_order" in file.attrs else None
    counts = [labels.count(label) for label in range(len(names))]
    return [FOLDERS[count - 1] if count else "" for count in counts], names, rule


def test_order_of_torchvision_and_of_timm(tmp_path: Path, succeed: Tool, root: Path) -> None:
    out = tmp_path / "a.h5"
    for options in ([], ["--class-order", "torchvision"]):
        done = succeed(NAME, "--input", root, "--output", out, "--overwrite", *options)
        assert read(out) == (datasets.ImageFolder(root).classes, FOLDERS, "torchvision")
        assert "classes in torchvision's order: 0 Boat, 1 apple" in done.stdout
    _, index = reader_image_folder.find_images_and_targets(str(root))
    of_timm = sorted(index, key=index.__getitem__)
    assert of_timm != FOLDERS
    done = succeed(NAME, "--input", root, "--output", out, "--overwrite", "--class-order", "timm")
    assert read(out) == (of_timm, of_timm, "timm")
    assert "classes in timm's order: 0 apple, 1 Boat, 2 cat9" in done.stdout


@pytest.mark.parametrize("option", ["--class-names", "--class-order"])
def test_names_of_folders_order_the_classes(tmp_path: Path, succeed: Tool, root: Path, option: str) -> None:
    out = tmp_path / "a.h5"
    done = succeed(NAME, "--input", root, "--output", out, option, lines(tmp_path / "names", OWN_ORDER))
    assert read(out) == (OWN_ORDER, OWN_ORDER, "file")
    assert "classes in the order of the file: 0 zebra, 1 apple, 2 Boat" in done.stdout


def test_other_names_are_titles_of_the_ordered_classes(tmp_path: Path, succeed: Tool, root: Path) -> None:
    out, names = tmp_path / "a.h5", lines(tmp_path / "names", TITLES)
    succeed(NAME, "--input", root, "--output", out, "--class-names", names)
    assert read(out) == (FOLDERS, TITLES, "torchvision")
    order = lines(tmp_path / "order", OWN_ORDER)
    done = succeed(
        NAME, "--input", root, "--output", out, "--overwrite", "--class-names", names, "--class-order", order
    )
    assert read(out) == (OWN_ORDER, TITLES, "file")
    assert "0 zebra (vessel), 1 apple (fruit)" in done.stdout
    names.write_bytes("\r\n".join([f" {title}\t" for title in TITLES] + ["", " \r\n"]).encode())
    succeed(NAME, "--input", root, "--output", out, "--overwrite", "--class-names", names)
    assert read(out)[1] == TITLES
    # Only the case of the letters is another: the right names in the right places.
    lines(names, ["BOAT", "Apple", "Cat10", "Cat9", "Zebra"])
    succeed(NAME, "--input", root, "--output", out, "--overwrite", "--class-names", names)
    assert read(out)[0] == FOLDERS


@pytest.mark.parametrize("option", ["--class-names", "--class-order"])
@pytest.mark.parametrize(
    ("names", "says"),
    [
        ([*OWN_ORDER[:4], "cat7"], "the name 'cat7' has no folder and the folder 'cat9' has no name"),
        (OWN_ORDER[:4], "the folder 'cat9' has no name"),
        ([*OWN_ORDER, "dog", "cow"], "2 names ('dog', 'cow') have no folder"),
        ([*OWN_ORDER, "cat9"], "names the folder 'cat9' more than once"),
        ([], "hold no name"),
        (["zebra", " ", *OWN_ORDER[1:]], "names', line 2 is empty, expected the name of a class in each line"),
    ],
)
def test_names_that_do_not_fit_the_folders(
    tmp_path: Path, fail: Tool, root: Path, option: str, names: list[str], says: str
) -> None:
    fail(NAME, "--input", root, option, lines(tmp_path / "names", names), code=3, says=says)


def test_titles_that_do_not_fit_the_folders(tmp_path: Path, fail: Tool, root: Path) -> None:
    names = lines(tmp_path / "names", TITLES[:4])
    fail(NAME, "--input", root, "--class-names", names, code=2, says="4 class names in")
    lines(names, ["Zebra", "Apple", "boat", "Cat10", "Cat9"])
    fail(NAME, "--input", root, "--class-names", names, code=3, says="'Boat' 'Zebra', which looks like another folder")


def test_options_that_contradict_each_other(tmp_path: Path, fail: Tool, root: Path) -> None:
    names = lines(tmp_path / "names", OWN_ORDER)
    both = ["--class-names", names, "--class-order", "timm"]
    fail(NAME, "--input", root, *both, code=2, says="--class-order timm is another order")
    fail(NAME, "--input", root, "--class-order", "natural", code=2, says="expected torchvision, timm or a file")
    both = ["--labels", names, "--class-order", "timm"]
    fail(NAME, "--input", root, *both, code=2, says="--class-order is for classes that are folders")


def test_folders_that_timm_takes_otherwise(fail: Tool, root: Path) -> None:
    timm = ["--input", root, "--class-order", "timm"]
    place(root, "zebra/small/1.png")
    fail(NAME, *timm, code=3, says="'zebra/small/1.png' is of the class 'small' to timm")
    (root / "zebra/small/1.png").unlink()
    place(root, "boat/1.png")
    fail(NAME, *timm, code=3, says="timm has no order for the folders 'Boat' and 'boat'")


def test_empty_folders(tmp_path: Path, succeed: Tool, fail: Tool, root: Path) -> None:
    (root / "moose").mkdir()
    with pytest.raises(FileNotFoundError):
        datasets.ImageFolder(root)
    for order in ("torchvision", "timm"):
        fail(NAME, "--input", root, "--class-order", order, code=3, says="the folder 'moose' has no image: remove it")
    names = lines(tmp_path / "names", ["moose", *OWN_ORDER])
    done = succeed(NAME, "--input", root, "--output", tmp_path / "a.h5", "--class-names", names)
    assert "note: the folder 'moose' has no image, but the class counts" in done.stdout
    assert read(tmp_path / "a.h5")[0] == ["", *OWN_ORDER]


def test_hidden_images_are_left_out_at_every_level(tmp_path: Path, succeed: Tool, root: Path) -> None:
    plain, out = tmp_path / "plain.h5", tmp_path / "a.h5"
    assert "note: hidden" not in succeed(NAME, "--input", root, "--output", plain).stdout
    place(root, ".ipynb_checkpoints/x.png", "apple/.ipynb_checkpoints/x.png", "apple/deep/.thumbs/x.png", "zebra/._0.png")
    (root / "zebra/.DS_Store").write_text("no image")
    with tarfile.open(tmp_path / "set.tar", "w") as archive:
        archive.add(root, "val")
    for source in (root, tmp_path / "set.tar"):
        done = succeed(NAME, "--input", source, "--output", out, "--overwrite")
        assert re.search(r"note: hidden images are left out: 4, first '(val/)?\.ipynb_checkpoints/x\.png'", done.stdout)
        assert out.read_bytes() == plain.read_bytes()


def test_only_hidden_images(tmp_path: Path, fail: Tool) -> None:
    place(tmp_path / "set", "a/.x.png", "b/.x.png")
    fail(NAME, "--input", tmp_path / "set", code=3, says="but 2 hidden ones, first 'a/.x.png'")


def test_label_file_with_class_names(tmp_path: Path, succeed: Tool, fail: Tool, root: Path) -> None:
    names = lines(tmp_path / "names", OWN_ORDER)
    images = [path.relative_to(root).as_posix() for path in sorted(root.rglob("*.png"))]
    labels = lines(tmp_path / "labels", ["file,label", *(f"{image},{image.split('/')[0]}" for image in images)])
    fail(NAME, "--input", root, "--labels", labels, code=3, says="is not a name and a label of 0 or more")
    out = tmp_path / "a.h5"
    succeed(NAME, "--input", root, "--labels", labels, "--class-names", names, "--output", out)
    assert read(out) == (OWN_ORDER, OWN_ORDER, None)
    lines(labels, [f"{image} {OWN_ORDER.index(image.split('/')[0])}" for image in images])
    succeed(NAME, "--input", root, "--labels", labels, "--class-names", names, "--output", out, "--overwrite")
    assert read(out) == (OWN_ORDER, OWN_ORDER, None)
    lines(labels, [f"{image} {image.split('/')[0]}" for image in images[:-1]] + [f"{images[-1]} zebrra"])
    says = "is not a name and a label of 0 or more, or a class name"
    fail(NAME, "--input", root, "--labels", labels, "--class-names", names, code=3, says=says)
