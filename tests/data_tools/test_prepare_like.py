# SPDX-License-Identifier: Apache-2.0
"""prepare_imagefolder --like: the pixels are those of the libraries' own transforms, bit for bit; what is refused."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
import torchvision
from PIL import Image
from tally_data.decode import decode
from tally_data.errors import ModelError, UsageError
from tally_data.image_files import ImageFile
from tally_data.options import ToolParser, add_image_options
from tally_data.preparation import add_geometry_options, preparation
from timm.data import create_transform, resolve_data_config
from timm.models import get_pretrained_cfg, list_pretrained
from transformers.models.beit.image_processing_pil_beit import BeitImageProcessorPil
from transformers.models.bit.image_processing_pil_bit import BitImageProcessorPil
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.convnext.image_processing_pil_convnext import ConvNextImageProcessorPil
from transformers.models.deit.image_processing_pil_deit import DeiTImageProcessorPil
from transformers.models.mobilenet_v1.image_processing_pil_mobilenet_v1 import MobileNetV1ImageProcessorPil
from transformers.models.mobilenet_v2.image_processing_pil_mobilenet_v2 import MobileNetV2ImageProcessorPil
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

from conftest import Tool
from tally_export.recipe import Recipe, library_recipe, of_timm
from tally_export.recipe_like import recipe_like
from test_image_rules import picture
from test_recipes import TIMM, TORCHVISION

NAME = "prepare_imagefolder"
SIZES = [(300, 301), (500, 333), (227, 391), (90, 120), (224, 224)]  # width and height


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> list[ImageFile]:
    folder = tmp_path_factory.mktemp("images")
    files = []
    for number, size in enumerate(SIZES):
        path = folder / f"{number}.png"
        picture(*size, seed=number).save(path)
        files.append(ImageFile(path.name, str(path), 0, path.stat().st_size))
    return files


def asked(*words: object, recipe: Recipe | None = None) -> tuple:
    parser = ToolParser(None)
    add_geometry_options(parser)
    add_image_options(parser, None)
    return preparation(parser.parse_args(list(map(str, words))), recipe)


def opened(file: ImageFile) -> Image.Image:
    return Image.open(file.container).convert("RGB")


def check(images: list[ImageFile], recipe: Recipe, prepare: object) -> None:
    """prepare: uint8 [C, H, W] or [H, W, C] of an image, by the library."""
    _, rule = asked(recipe=recipe)
    for file in images:
        expected = np.asarray(prepare(opened(file)))
        if expected.shape[0] == 3:
            expected = expected.transpose(1, 2, 0)
        assert np.array_equal(decode(file, rule), expected), file.name


def timm_pixels(config: dict) -> object:
    return create_transform(**config, is_training=False, normalize=False)


@pytest.mark.parametrize("name", TIMM)
def test_timm(name: str, images: list[ImageFile]) -> None:
    config = resolve_data_config({}, pretrained_cfg=get_pretrained_cfg(name).to_dict(), use_test_size=True)
    check(images, recipe_like(f"timm:{name}", None), timm_pixels(config))


@pytest.mark.parametrize("mode", ["center", "squash", "border"])
@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic", "lanczos", "nearest", "box", "hamming"])
def test_every_mode_and_interpolation_of_timm(mode: str, interpolation: str, images: list[ImageFile]) -> None:
    for size, share in (((224, 224), 0.875), ((160, 224), 0.9), ((97, 64), 1.0)):
        config = {"input_size": (3, *size), "crop_pct": share, "crop_mode": mode, "interpolation": interpolation,
                  "mean": (0.481, 0.458, 0.408), "std": (0.269, 0.261, 0.276)}  # fmt: skip
        check(images, of_timm("any", config), timm_pixels(resolve_data_config({}, pretrained_cfg=config, use_test_size=True)))


@pytest.mark.parametrize("model", TORCHVISION)
def test_torchvision(model: str, images: list[ImageFile]) -> None:
    enum = torchvision.models.get_model_weights(model)
    assert recipe_like(model, None).source == f"torchvision:{enum.DEFAULT}"
    for weights in enum:
        own = weights.transforms()
        own.mean, own.std = [0.0] * 3, [1.0] * 3  # the numbers of float32 of the bytes, which are exact
        check(images, recipe_like(model, weights.name), lambda image, own=own: (own(image) * 255).round().byte())


@pytest.mark.parametrize("processor", [
    CLIPImageProcessorPil(), BitImageProcessorPil(), SiglipImageProcessorPil(), BeitImageProcessorPil(),
    MobileNetV1ImageProcessorPil(), MobileNetV2ImageProcessorPil(), ViTImageProcessorPil(), ViTImageProcessorPil(resample=1), DeiTImageProcessorPil(), ConvNextImageProcessorPil(),
    ConvNextImageProcessorPil(size={"shortest_edge": 224}), ConvNextImageProcessorPil(size={"shortest_edge": 97}, crop_pct=0.9),
], ids=lambda one: type(one).__name__)  # fmt: skip
def test_hugging_face(processor: object, images: list[ImageFile], tmp_path: Path) -> None:
    processor.save_pretrained(tmp_path / "net")
    recipe = recipe_like(f"hf:{tmp_path / 'net'}", None)

    def prepare(image: Image.Image) -> np.ndarray:
        return processor(images=image, do_rescale=False, do_normalize=False, return_tensors="np")["pixel_values"][0]

    check(images, recipe, prepare)


def test_padding_of_hugging_face(images: list[ImageFile], tmp_path: Path) -> None:
    processor = DeiTImageProcessorPil(size={"height": 60, "width": 60}, crop_size={"height": 65, "width": 65})
    processor.save_pretrained(tmp_path)

    def prepare(image: Image.Image) -> np.ndarray:
        return processor(images=image, do_rescale=False, do_normalize=False, return_tensors="np")["pixel_values"][0]

    check(images, recipe_like(f"hf:{tmp_path}", None), prepare)


def test_default_weights_of_every_model_of_torchvision() -> None:
    for name in torchvision.models.list_models(module=torchvision.models):
        assert recipe_like(name, None).crop is not None


def test_every_imagenet_configuration_of_timm_is_known() -> None:
    names = [name for name in list_pretrained() if get_pretrained_cfg(name).num_classes == 1000]
    assert len(names) > 1000
    for name in names:
        encoding, rule = asked(recipe=library_recipe(f"timm:{name}"))
        config = get_pretrained_cfg(name)
        assert rule.crop == tuple((config.test_input_size or config.input_size)[1:]) and encoding.mean == config.mean


def test_options_win(capsys: pytest.CaptureFixture[str]) -> None:
    recipe = library_recipe("timm:resnet18.a1_in1k")
    encoding, rule = asked("--resize", "256x200", "--channels", "BGR", recipe=recipe)
    assert rule.resize == (256, 200) and rule.crop == recipe.crop and rule.crop_mode == "squash" and rule.interpolation == "bicubic"
    assert encoding.mean == recipe.encoding.mean[::-1]
    said = capsys.readouterr().out
    assert said.startswith(f"note: --resize 256x200 instead of {'x'.join(map(str, recipe.resize))}, --crop-mode squash instead of")
    assert said.endswith("not as timm:resnet18.a1_in1k's recipe\n") and "normalisation" not in said
    asked("--mean", "0.5", "--std", "0.5", recipe=recipe)
    assert capsys.readouterr().out.startswith("note: another normalisation, as")
    asked("--crop", recipe.crop[0], recipe=recipe)
    assert capsys.readouterr().out == ""


def test_whose_recipe_it_was() -> None:
    """Only where all comes from it, unchanged."""
    recipe = library_recipe("timm:resnet18.a1_in1k")

    def kept(*words: object, of: Recipe = recipe) -> str | None:
        return asked(*words, recipe=of)[1].geometry.attributes().get("recipe_source")

    assert kept() == kept("--channels", "BGR") == kept("--crop", recipe.crop[0]) == b"timm:resnet18.a1_in1k"
    assert kept(of=library_recipe("ResNet18_Weights.IMAGENET1K_V1")) == b"torchvision:ResNet18_Weights.IMAGENET1K_V1"
    for words in (("--crop", 9), ("--resize", "9x9"), ("--interpolation", "box"), ("--mean", 0.5, "--std", 0.5), ("--scale", 1)):
        assert kept(*words) is None
    assert kept("--crop", 9, of=replace(recipe, crop=None)) is None
    assert kept("--mean", 0, "--std", 1, of=replace(recipe, encoding=None)) is None
    assert "recipe_source" not in asked("--crop", 9)[1].geometry.attributes()


def test_what_no_recipe_says_is_asked_for() -> None:
    with pytest.raises(UsageError, match="does not say all: name weights with --recipe, or give --resize$"):
        asked(recipe=Recipe("a", library_recipe("resnet18.a1_in1k").encoding, None, (8, 8), None, "center", "box"))
    with pytest.raises(UsageError, match="or give --mean, --std$"):
        asked(recipe=Recipe("a", None, (8, 8), (8, 8), None, "center", "box"))
    assert asked("--crop", "9")[1].geometry.crop == (9, 9)
    assert asked("--resize", "9x7")[1].crop_mode == "squash"
    for words in (("--interpolation", "box"), ("--crop", 9, "--crop-mode", "squash")):
        with pytest.raises(UsageError, match="is for --resize"):
            asked(*words)


def test_borders_of_other_channels(images: list[ImageFile]) -> None:
    """The mean, whatever the order of the channels is."""
    words = ("--resize", 64, "--crop", 64, "--crop-mode", "border", "--mean", "0.2,0.4,0.6", "--std", 1)
    for channels, corner in (("RGB", [51, 102, 153]), ("BGR", [51, 102, 153])):
        assert decode(images[1], asked(*words, "--channels", channels)[1])[0, 0].tolist() == corner
    in_bytes = asked(*words[:6], "--scale", 1, "--mean", "51,102,153", "--std", 1)[1]
    assert decode(images[1], in_bytes)[0, 0].tolist() == [51, 102, 153]
    grey = asked(*words[:6], "--channels", "L", "--mean", 0.2, "--std", 1)[1]
    assert decode(images[1], grey)[0, 0].tolist() == [51]


def save_with_card(path: Path, card: object) -> Path:
    extra = {} if card is None else {"tally.json": card if isinstance(card, str) else json.dumps(card)}
    torch.jit.save(torch.jit.script(torch.nn.Identity()), str(path), _extra_files=extra)
    return path


def test_of_a_file(tmp_path: Path, succeed: Tool) -> None:
    succeed("export_model", "--model", "timm:mobilenetv3_small_050", "--output", tmp_path / "m.pt")
    recipe = recipe_like(str(tmp_path / "m.pt"), None)
    assert recipe == library_recipe("timm:mobilenetv3_small_050.lamb_in1k")
    assert recipe_like(str(tmp_path / "m.pt"), "lamb_in1k") == recipe
    assert recipe_like(str(tmp_path / "m.pt"), "ResNet18_Weights.IMAGENET1K_V1").interpolation == "bilinear"
    root = tmp_path / "val"
    for name in ("a/1.png", "b/2.png"):
        (root / name).parent.mkdir(parents=True)
        picture(300, 280).save(root / name)
    succeed(NAME, "--input", root, "--like", tmp_path / "m.pt", "--output", tmp_path / "a.h5", "--workers", 1)
    with h5py.File(tmp_path / "a.h5") as file:
        image = file["inputs/image"]
        assert image.shape == (2, 224, 224, 3) and image.attrs["resize"].tolist() == [256, 256]
        assert image.attrs["recipe_source"] == b"timm:mobilenetv3_small_050.lamb_in1k"
        assert image.attrs["interpolation"] == b"bicubic" and image.attrs["mean"].tolist() == list(recipe.encoding.mean)


def test_of_cards_elsewhere(tmp_path: Path) -> None:
    card = {"source": {"model": "torchvision:resnet50"},
            "normalisation": {"channels": "RGB", "scale": 1.0, "mean": [1, 2, 3], "std": [1, 1, 1]},
            "recipe": {"source": "mine", "resize": [9, 8], "crop": [7, 6], "crop_mode": "squash", "interpolation": "box"}}  # fmt: skip
    found = recipe_like(str(save_with_card(tmp_path / "a.pt", card)), None)
    assert (found.source, found.resize, found.crop, found.encoding.mean) == ("mine", (9, 8), (7, 6), (1.0, 2.0, 3.0))
    beside = save_with_card(tmp_path / "b.pt", None)
    (tmp_path / "b.pt.json").write_text(json.dumps(card))
    assert recipe_like(str(beside), None) == found
    with zipfile.ZipFile(tmp_path / "c.pt2", "w") as archive:
        archive.writestr("c/data/aotinductor/model/x_metadata.json", json.dumps({"tally": json.dumps(card)}))
    assert recipe_like(str(tmp_path / "c.pt2"), None) == found
    assert recipe_like(str(beside), "IMAGENET1K_V1").resize == (256, 256)


@pytest.mark.parametrize(("content", "says"), [
    (None, "has no model card"), ("{", "is no JSON"), ("[]", "is no JSON object"), ({"recipe": []}, "or give"),
    ({"recipe": {"source": "a", "resize": 3}}, "is wrong"), ({"normalisation": {"channels": "RGB"}}, "is wrong"),
    ({"recipe": {"source": "a", "resize": [0, 0]}}, "is wrong"), ({"recipe": {"source": "a", "crop_mode": "centre"}}, "is wrong"),
    ({"recipe": {"source": "a", "interpolation": "cubic"}}, "is wrong"),
])  # fmt: skip
def test_cards_without_a_recipe(content: object, says: str, tmp_path: Path) -> None:
    path = save_with_card(tmp_path / "a.pt", content)
    with pytest.raises((ModelError, UsageError), match=says):
        asked(recipe=recipe_like(str(path), None))


def test_faults(tmp_path: Path, fail: Tool) -> None:
    (tmp_path / "weights.pth").write_bytes(b"no archive")
    (tmp_path / "empty").mkdir()
    for like, code, says in (
        ("nosuch", 2, "there is no file 'nosuch', and neither torchvision nor timm has weights"),
        ("timm:nosuch", 2, "timm has no weights of a model of that name"),
        ("net.py:make", 2, "name its weights with --recipe"),
        (tmp_path / "weights.pth", 4, "has no model card"),
        (f"hf:{tmp_path / 'empty'}", 2, "has no preprocessor_config.json"),
    ):
        fail(NAME, "--input", tmp_path, "--output", tmp_path / "x.h5", "--like", like, code=code, says=says)
    fail(NAME, "--input", tmp_path, "--output", tmp_path / "x.h5", "--like", "resnet18", "--recipe", "V9", code=2, says="'V9'")
    assert recipe_like("net.py:make", "timm:resnet18.a1_in1k").source == "timm:resnet18.a1_in1k"
