# SPDX-License-Identifier: Apache-2.0
"""What the card says of the images' preparation and of the weights, beside what the data set says: notes and report."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
import small
from conftest import Evaluate, Small
from launch import Program
from prepared import Prepared
from safetensors.torch import save_file
from tally_data import DataSetWriter
from tally_data.geometry import Geometry

RANDOM = "the weights are random: the model was exported without --weights"
NORMALISATION = {
    "scale": small.ENCODING.scale, "mean": list(small.ENCODING.mean), "std": list(small.ENCODING.std), "channels": "RGB",
}  # fmt: skip
RECIPE = {
    "source": "timm:tiny.in1k", "resize": [9, 9], "crop": [8, 8], "crop_share": 0.9, "crop_mode": "center",
    "interpolation": "bicubic",
}  # fmt: skip
OTHER = {"scale": 1 / 255, "mean": [0.5] * 3, "std": [0.5] * 3, "channels": "RGB"}


def model_with(path: Path, **changes: object) -> Path:
    return small.save_model(small.TinyNet(), path, json.dumps(small.card(**changes)))


def write_set(path: Path, geometry: Geometry | None, checksums: bool = True) -> Path:
    """Of the same images as the small case."""
    chosen, options = small.make_set(), {"num_classes": small.NUM_CLASSES, "num_samples": small.NUM_SAMPLES}
    with DataSetWriter(path, task="multiclass", checksums=checksums, **options) as out:
        out.add_image(height=8, width=8, encoding=small.ENCODING, geometry=geometry, data=chosen.images)
        out.add_target("label", chosen.labels)
    return path


@pytest.mark.parametrize("ranks", [1, 3])
def test_each_difference_is_in_one_note_and_in_the_report(tmp_path: Path, evaluate: Evaluate, ranks: int) -> None:
    model = model_with(tmp_path / "net.pt", normalisation=OTHER, recipe=RECIPE)
    data = write_set(tmp_path / "d.h5", Geometry((10, 10), (8, 8), "center", "bilinear"))
    found = evaluate(model, data, ranks=ranks).report
    notes = [note for note in found["notes"] if "model card" in note]
    assert len(notes) == 1
    assert notes[0].startswith("normalisation of the model card is used (RGB scale ")
    assert notes[0].endswith(
        "; the data set's images were not prepared as the model card says: resize 10x10 instead of 9x9, "
        "interpolation bilinear instead of bicubic"
    )
    recipe = found["recipe"]
    assert recipe["differences"] == ["mean", "std", "resize", "interpolation"]
    own = {"size": [8, 8], "crop_mode": "center"}
    assert recipe["model"] == own | {
        "source": "timm:tiny.in1k", "normalisation": OTHER, "resize": [9, 9], "crop_share": 0.9, "interpolation": "bicubic",
    }  # fmt: skip
    assert recipe["data"] == own | {
        "source": None, "normalisation": NORMALISATION, "resize": [10, 10], "crop_share": None, "interpolation": "bilinear",
    }  # fmt: skip


def test_check_says_it_too(tmp_path: Path, tally: Program) -> None:
    model = model_with(tmp_path / "net.pt", recipe=RECIPE)
    data = write_set(tmp_path / "d.h5", Geometry((9, 9), (8, 8), "squash", "bicubic"))
    run = tally("check", "--model", model, "--data", data).must_succeed()
    assert "not prepared as the model card says: crop_mode center instead" not in run.stdout + run.stderr
    assert "not prepared as the model card says: crop_mode squash instead of center" in run.stdout + run.stderr


def test_no_note_where_they_agree(tmp_path: Path, evaluate: Evaluate, small_case: Small) -> None:
    model = model_with(tmp_path / "net.pt", normalisation=NORMALISATION, recipe=RECIPE)
    same = write_set(tmp_path / "same.h5", Geometry((9, 9), (8, 8), "center", "bicubic"))
    with h5py.File(same, "r+") as file:
        file["inputs/image"].attrs["recipe_source"] = "timm:tiny.in1k"
        del file["checksums"].attrs["structure_sha256"]
    found = evaluate(model, same).report
    assert found["recipe"]["differences"] == []
    assert found["recipe"]["data"]["source"] == "timm:tiny.in1k"
    assert not any("card" in note or "random" in note or "prepared" in note for note in found["notes"])


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_data_set_that_says_nothing_is_named(
    tmp_path: Path, evaluate: Evaluate, small_case: Small, ranks: int
) -> None:
    model = model_with(tmp_path / "net.pt", normalisation=NORMALISATION, recipe=RECIPE)
    found = evaluate(model, small_case.data, ranks=ranks).report
    assert found["recipe"]["differences"] == []
    expected = "the data set does not say how its images were prepared; the model's weights (timm:tiny.in1k) want resize 9x9"
    assert [note.startswith(expected) for note in found["notes"] if "prepared" in note] == [True]


def test_random_weights_are_noted(tmp_path: Path, tally: Program, evaluate: Evaluate, small_case: Small) -> None:
    def notes(weights: object, *options: object) -> list[str]:
        source = {"model": "torchvision:tiny", "torch": "2", "weights": weights}
        model = model_with(tmp_path / "net.pt", source=source)
        found = evaluate(model, small_case.data, *options).report["notes"]
        checked = tally("check", "--model", model, "--data", small_case.data, *options).must_succeed()
        assert (RANDOM in checked.stdout + checked.stderr) == (RANDOM in found)
        return found

    assert notes(None).count(RANDOM) == 1
    assert RANDOM not in notes({"origin": "as the function made them"})
    assert RANDOM not in notes({"path": "w.pth", "sha256": "0" * 64})
    weights = tmp_path / "w.safetensors"
    save_file(small.TinyNet(seed=2).state_dict(), weights)
    assert RANDOM not in notes(None, "--weights", weights)


def test_inspect_shows_both(tmp_path: Path, tally: Program) -> None:
    model = model_with(tmp_path / "net.pt", recipe=RECIPE)
    data = write_set(tmp_path / "d.h5", Geometry((10, 10), None, "center", "bilinear"))
    words = "recipe of timm:tiny.in1k: resize 9x9, crop 8x8, crop share 0.9, center, bicubic"
    assert words in tally("inspect", model).must_succeed().stdout
    assert "; resize 10x10, center, bilinear" in tally("inspect", data).must_succeed().stdout


def test_hostile_cards_and_sets_are_refused(tmp_path: Path, tally: Program, small_case: Small) -> None:
    model = model_with(tmp_path / "net.pt", recipe=RECIPE | {"crop_mode": "\u001b[2J"})
    tally("check", "--model", model, "--data", small_case.data).must_fail(4, "recipe.crop_mode")
    good = model_with(tmp_path / "good.pt", recipe=RECIPE)
    data = write_set(tmp_path / "d.h5", None, checksums=False)
    with h5py.File(data, "r+") as file:
        file["inputs/image"].attrs["resize"] = np.array([2**40, 1])
    tally("check", "--model", good, "--data", data).must_fail(3, "'resize' holds [1099511627776, 1]")


def test_the_cards_normalisation_decides(
    data_dir: Path, cache_dir: Path, evaluate: Evaluate
) -> None:
    """Of 1,000 images 915 are right by the network's own mean and deviation, 846 by others."""
    prepared = Prepared(data_dir, cache_dir)
    network = "cifar_resnet20"
    model, data = prepared.trained_model(network), prepared.data_of(network)
    other = prepared.half_normalised_cifar()
    assert evaluate(model, data).report["recipe"]["differences"] == []
    found = evaluate(model, other)
    assert round(found.value("accuracy") * 1000) == 915
    assert found.report["recipe"]["differences"] == ["mean", "std"]
    half = prepared.half_normalised_model(network)
    assert round(evaluate(half, data).value("accuracy") * 1000) == 846
