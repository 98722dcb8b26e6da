# SPDX-License-Identifier: Apache-2.0
"""export_model of detectors, which return several tensors, and of dense networks."""

import json
import zipfile
from pathlib import Path

import pytest
import torch
from oracle import load_model

from conftest import ROOT, Tool

NAME = "export_model"
NETS = Path(__file__).with_name("own_detectors.py")
SHAPE = ("--input-shape", "1,8,8")
NAMES = ("--output-names", "boxes,scores,labels")
CARD_OF_DETECTOR = [
    {"name": "boxes", "kind": "logits", "dtype": "float32", "shape": ["batch", 5, 4]},
    {"name": "scores", "kind": "logits", "dtype": "float32", "shape": ["batch", 5]},
    {"name": "labels", "dtype": "int64", "shape": ["batch", 5]},
]

MAKE_DETECTOR = """
class Grid(nn.Conv2d):
    def forward(self, image):
        values = super().forward(image).flatten(2).transpose(1, 2)
        return values[:, :, :4], values[:, :, 4:]

def make():
    return Detector(Grid(3, 4 + 7, 1))
"""


def export(
    succeed: Tool, folder: Path, function: str, *options: object
) -> tuple[torch.jit.ScriptModule, dict]:
    output = folder / f"{function}.pt"
    succeed(NAME, "--model", f"{NETS}:{function}", "--output", output, *options)
    return load_model(output)


@pytest.fixture
def nets(monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.syspath_prepend(NETS.parent)
    import own_detectors

    return own_detectors


def test_tuple_with_names(tmp_path: Path, succeed: Tool, nets: object) -> None:
    exported, card = export(succeed, tmp_path, "detector", *SHAPE, *NAMES)
    assert card["outputs"] == CARD_OF_DETECTOR and "num_classes" not in card
    module = nets.detector().eval()
    module.load_state_dict(exported.state_dict())
    batch = torch.randn(3, 1, 8, 8)
    found, expected = exported(batch), module(batch)
    assert len(found) == 4  # of which tally takes as many as the card names
    assert torch.equal(found[2], expected[2]) and torch.allclose(found[0], expected[0], atol=1e-5)


def test_all_of_a_tuple(tmp_path: Path, succeed: Tool) -> None:
    _, card = export(succeed, tmp_path, "detector", *SHAPE, "--output-names", "boxes,scores,labels,num_detections")
    counts = {"name": "num_detections", "dtype": "int32", "shape": ["batch"]}
    assert card["outputs"] == [*CARD_OF_DETECTOR, counts]


def test_own_card_names_outputs(tmp_path: Path, succeed: Tool) -> None:
    _, card = export(succeed, tmp_path, "with_card")
    probabilities = CARD_OF_DETECTOR[1] | {"kind": "probabilities"}
    assert card["outputs"] == [CARD_OF_DETECTOR[0], probabilities, CARD_OF_DETECTOR[2]]
    _, card = export(succeed, tmp_path, "with_card", "--output-names", "corners,scores", "--overwrite")
    assert card["outputs"] == [CARD_OF_DETECTOR[0] | {"name": "corners"}, probabilities]


def test_dict_by_name(tmp_path: Path, succeed: Tool) -> None:
    exported, card = export(succeed, tmp_path, "in_dict", *SHAPE, *NAMES)
    assert card["outputs"] == CARD_OF_DETECTOR
    assert set(exported(torch.zeros(2, 1, 8, 8))) == {"boxes", "scores", "labels", "count"}


def test_integers_must_be_the_same(tmp_path: Path, succeed: Tool, fail: Tool) -> None:
    words = ["--model", f"{NETS}:of_the_example", *SHAPE]
    fail(NAME, *words, *NAMES, code=4, says="other results than the model on a batch [1, 1, 8, 8]")
    export(succeed, tmp_path, "of_the_example", *SHAPE, "--output-names", "boxes,scores")  # labels are not wanted


def test_sizes_that_vary(tmp_path: Path, succeed: Tool) -> None:
    _, card = export(succeed, tmp_path, "growing", *SHAPE, *NAMES)
    shapes = [entry["shape"] for entry in card["outputs"]]
    assert shapes == [["batch", "size_1", 4], ["batch", "size_1"], ["batch", "size_1"]]


@pytest.mark.parametrize(
    ("function", "shape", "num_classes"),
    [("dense", [4, "height", "width"], 4), ("depth", [1, "height", "width"], 1),
     ("map_of_depth", ["height", "width"], None)],
)  # fmt: skip
def test_dense(tmp_path: Path, succeed: Tool, function: str, shape: list, num_classes: int | None) -> None:
    exported, card = export(succeed, tmp_path, function)  # takes images of any size
    assert card["outputs"] == [
        {"name": "logits", "kind": "logits", "dtype": "float32", "shape": ["batch", *shape]}
    ]
    assert card.get("num_classes") == num_classes
    channels = [4] * (function == "dense") + [1] * (function == "depth")
    assert list(exported(torch.zeros(2, 3, 17, 40)).shape) == [2, *channels, 17, 40]
    _, card = export(succeed, tmp_path, function, "--input-shape", "3,8,16", "--overwrite")
    assert card["outputs"][0]["shape"] == ["batch", *channels, 8, 16]


def test_classes_of_pixels(tmp_path: Path, succeed: Tool) -> None:
    exported, card = export(succeed, tmp_path, "mask")
    assert card["outputs"] == [{"name": "labels", "dtype": "int64", "shape": ["batch", "height", "width"]}]
    assert "num_classes" not in card
    found = exported(torch.randn(2, 3, 17, 40))
    assert found.dtype == torch.int64 and list(found.shape) == [2, 17, 40] and set(found.unique().tolist()) <= set(range(4))


def test_kind_of_dense(tmp_path: Path, succeed: Tool, fail: Tool) -> None:
    words = ["--input-shape", "3,8,8"]
    _, card = export(succeed, tmp_path, "dense_probabilities", *words, "--outputs", "probabilities")
    assert card["outputs"][0]["kind"] == "probabilities"
    output = tmp_path / "again.pt"
    done = succeed(NAME, "--model", f"{NETS}:dense_probabilities", *words, "--output", output)
    assert done.stdout.startswith("note: the outputs look like probabilities")
    words = ["--model", f"{NETS}:dense", *words]
    fail(NAME, *words, "--outputs", "probabilities", code=4, says="does not return probabilities")


def test_model_faults(fail: Tool) -> None:
    def refuse(function: str, says: str, *options: object) -> None:
        fail(NAME, "--model", f"{NETS}:{function}", *options, code=4, says=says)

    refuse("detector", "a tuple of 4, expected one tensor; name those", *SHAPE)
    refuse("detector", "returns is 4, that of the names 5", *SHAPE, "--output-names", "a,b,c,d,e")
    refuse("in_dict", "--output-names count,labels,boxes,scores", *SHAPE)
    refuse("in_dict", "without the output 'masks'", *SHAPE, "--output-names", "boxes,masks")
    refuse("list_of_dicts", "a list of dict, expected tensors", *SHAPE)
    refuse("class_of_image", "returns int64, expected floating-point scores", "--input-shape", "3,8,8")
    refuse("double", "a tensor of float64", "--input-shape", "3,8,8")
    refuse("dense", "returns is 1, that of the names 2", "--input-shape", "3,8,8", "--output-names", "a,b")
    refuse("dense_probabilities", "4 classes, --num-classes is 5", "--input-shape", "3,8,8", "--num-classes", 5)


def test_usage_faults(fail: Tool) -> None:
    words = ["--model", f"{NETS}:detector", *SHAPE]
    fail(NAME, *words, "--output-names", "a,,b", code=2, says="A,B,...")
    fail(NAME, *words, "--output-names", "a,a", code=2, says="different names")
    fail(NAME, *words, *NAMES, "--outputs", "logits", code=2, says="--outputs is for a model of one output")
    fail(NAME, "--model", "hf:folder", *NAMES, code=2, says="--output-names is not for models of transformers")


def test_package_returns_what_is_named(tmp_path: Path, succeed: Tool) -> None:
    output = tmp_path / "m.pt2"
    options = ["--format", "pt2", "--input-shape", "6", "--output-names", "half,positive"]
    succeed(NAME, "--model", f"{NETS}:simple", *options, "--output", output)
    with zipfile.ZipFile(output) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".wrapper_metadata.json"))
        card = json.loads(json.loads(archive.read(name))["tally"])
    assert card["outputs"] == [
        {"name": "half", "kind": "logits", "dtype": "float32", "shape": ["batch", 6]},
        {"name": "positive", "dtype": "int64", "shape": ["batch", 6]},
    ]  # as many as the library returns, or the exporter refuses it


def test_detector_of_the_documents(tmp_path: Path, succeed: Tool) -> None:
    text = (ROOT / "docs" / "model-card.md").read_text()
    code = text.partition("<!-- my_detector.py -->\n```python\n")[2].partition("```")[0]
    (tmp_path / "my_detector.py").write_text(f"{code}\n{MAKE_DETECTOR}")
    words = text.partition("--model my_detector.py:make ")[2].partition("\n```")[0].replace("\\\n", " ").split()
    words[words.index("3,640,640")] = "3,16,16"
    succeed(NAME, "--model", "my_detector.py:make", *words, cwd=tmp_path)
    _, card = load_model(tmp_path / "my-detector.pt")
    shapes = {entry["name"]: entry["shape"][1:] for entry in card["outputs"]}
    assert shapes == {"boxes": [100, 4], "scores": [100], "labels": [100]}
    assert card["outputs"][2]["dtype"] == "int64"
