# SPDX-License-Identifier: Apache-2.0
"""A detector of one's own, exported with its card and run on prepared images, equals pycocotools on PyTorch's boxes."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from coco_reference import CATEGORIES, HEIGHT, WIDTH, Case, random_case, reference, results_of
from conftest import ROOT, Evaluate
from detection_runs import OPTIONS, check_figures, mapped, prepare, state_of
from detector_stand_in import Found
from PIL import Image

COLOURS = ((255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0), (0, 255, 255))  # of the classes
NET = '''
import torch
from torch import nn
from torch.nn.functional import max_pool2d


class Squares(nn.Module):
    """Squares, every 4 pixels, that have more of the colour of a class than those beside them."""

    def __init__(self, side):
        super().__init__()
        self.side = side
        self.colours = nn.Conv2d(3, 5, side, stride=4)

    def forward(self, image):
        scores, labels = self.colours(image).sigmoid().max(1)
        scores = scores * (scores == max_pool2d(scores, 3, 1, 1))
        places = torch.arange(scores.shape[1] * scores.shape[2])
        width = scores.shape[2]
        corner = torch.stack((places % width, places // width), 1) * 4.0
        boxes = torch.cat((corner, corner + self.side), 1)
        return boxes.expand(scores.shape[0], -1, -1), scores.flatten(1), labels.flatten(1)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.sizes = nn.ModuleList([Squares(8), Squares(24)])

    def forward(self, image):
        found = [squares(image) for squares in self.sizes]
        boxes, scores, labels = (torch.cat(tensors, 1) for tensors in zip(*found))
        best, places = scores.topk(30, 1)
        boxes = boxes.gather(1, places[:, :, None].expand(-1, -1, 4))
        return boxes, best, labels.gather(1, places), (best > 0.7).sum(1)


def make():
    return Detector()
'''


def draw(case: Case, folder: Path) -> Path:
    """Images of noise, and on it the objects in the colours of their classes."""
    folder.mkdir()
    random = np.random.default_rng(8)
    for image in case.annotations["images"]:
        pixels = random.integers(0, 100, (HEIGHT, WIDTH, 3), np.uint8)
        for known in case.annotations["annotations"]:
            if known["image_id"] == image["id"]:
                x, y, width, height = known["bbox"]
                square = pixels[y : y + height, x : x + width]
                square //= 2
                square += np.array(COLOURS[CATEGORIES.index(known["category_id"])], np.uint8) // 2
        Image.fromarray(pixels).save(folder / image["file_name"])
    return folder


def write_weights(path: Path) -> Path:
    directions = torch.tensor(COLOURS) / 255 - 0.5
    directions /= directions.norm(dim=1, keepdim=True)
    weights = {}
    for at, side in enumerate((8, 24)):
        kernels = directions[:, :, None, None].expand(-1, -1, side, side) * 4 / side**2
        weights |= {f"sizes.{at}.colours.weight": kernels.clone(), f"sizes.{at}.colours.bias": torch.full((5,), -2.0)}
    torch.save(weights, path)
    return path


@pytest.fixture(scope="module")
def case() -> Case:
    return random_case(18, num_images=21)


@pytest.fixture(scope="module")
def folder(case: Case, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """set.h5, net.py and its weights.pth."""
    folder = tmp_path_factory.mktemp("detector")
    prepare(case, folder, "--images", draw(case, folder / "images"), "--size", "64x80")
    (folder / "net.py").write_text(NET)
    write_weights(folder / "weights.pth")
    return folder


def found_by_torch(folder: Path) -> dict[int, Found]:
    """What the module, as it is in its file, finds in the images of the data set."""
    spec = importlib.util.spec_from_file_location("net", folder / "net.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    detector = module.make().eval()
    detector.load_state_dict(torch.load(folder / "weights.pth"))
    with h5py.File(folder / "set.h5") as file:
        image, ids = file["inputs/image"], file["images/id"][...].tolist()
        values = (image[...] * image.attrs["scale"] - image.attrs["mean"]) / image.attrs["std"]
    with torch.inference_mode():
        inputs = torch.from_numpy(values.astype(np.float32)).permute(0, 3, 1, 2).contiguous()
        outputs = [tensor.numpy() for tensor in detector(inputs)]
    return {
        identity: Found(boxes[:count], scores[:count], labels[:count])
        for identity, boxes, scores, labels, count in zip(ids, *outputs, strict=True)
    }


def export(folder: Path, form: str) -> Path:
    model = folder / f"net.{'pt' if form == 'torchscript' else form}"
    words = ["--model", f"{folder / 'net.py'}:make", "--weights", folder / "weights.pth", "--input-shape", "3,64,80"]
    words += ["--output-names", "boxes,scores,labels,num_detections", "--format", form, "--output", model]
    command = [sys.executable, ROOT / "data_tools" / "export_model.py", *words]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return model


@pytest.mark.parametrize("form", ["torchscript", "pt2"])
def test_figures_are_those_of_pycocotools(form: str, case: Case, folder: Path, evaluate: Evaluate) -> None:
    found = found_by_torch(folder)
    corners = np.concatenate([found[identity].boxes for identity in sorted(found)])
    results = mapped(results_of(found), corners, folder / "set.h5")
    expected = reference(case.annotations, list(map(dict, results)))
    assert expected.metrics["ap"] > 0.05 and 0 < expected.metrics["ar1"] < expected.metrics["ar100"] < 1
    assert len({len(one.scores) for one in found.values()}) > 3
    model = export(folder, form)
    alone, several = (evaluate(model, folder / "set.h5", *OPTIONS, ranks=ranks) for ranks in (1, 3))
    assert (state_of(several), several.digests) == (state_of(alone), alone.digests)
    check_figures(alone, expected)
    saved = json.loads((alone.folder / "detections.json").read_text())
    scores = [result.pop("score") for result in saved]
    assert scores == pytest.approx([result.pop("score") for result in results], abs=1e-5)
    assert saved == results
