# SPDX-License-Identifier: Apache-2.0
"""export_model: what reaches the model's constructor, and what the recipe of its images becomes by it."""

import argparse
import math
from pathlib import Path

import pytest
import timm
import torch
import torchvision
from oracle import load_model
from timm.data import create_transform, resolve_data_config, resolve_input_data_config
from timm.models import get_pretrained_cfg

from conftest import Tool
from tally_export.card import Description, describe
from tally_export.constructor import Asked
from tally_export.options import asked_of_constructor, make_parser
from tally_export.resolve import find_model

NAME = "export_model"
NETS = Path(__file__).with_name("own_nets.py")
SMALL = "mobilenetv3_small_050"


def arguments(model: str, *options: object) -> argparse.Namespace:
    return make_parser(None).parse_args(["--model", model, "--output", "m.pt", *map(str, options)])


def described(model: str, *options: object) -> Description:
    args = arguments(model, *options)
    return describe(args, {}, find_model(model, asked_of_constructor(args)))


def test_values_are_read_as_timm_reads_them() -> None:
    words = ["a=0.5", "b=None", "c=(1, 2)", "d=gelu", "e=[1,'x']", "f=", "g=a=b", "h=True"]
    timm_parser = argparse.ArgumentParser()
    timm_parser.add_argument("--model-kwargs", nargs="*", default={}, action=timm.utils.ParseKwargs)
    expected = timm_parser.parse_args(["--model-kwargs", *words]).model_kwargs
    asked = asked_of_constructor(arguments("resnet18", "--model-kwargs", *words[:3], "--model-kwargs", *words[3:]))
    assert asked.kwargs == expected and len(expected) == len(words)


def test_of_a_library(tmp_path: Path, succeed: Tool) -> None:
    kwargs = ["--model-kwargs", "act_layer=gelu", "drop_rate=0.25"]
    succeed(NAME, "--model", SMALL, *kwargs, "--img-size", 64, "--num-classes", 5, "--output", tmp_path / "m.pt")
    exported, card = load_model(tmp_path / "m.pt")
    assert card["source"]["kwargs"] == {"act_layer": "gelu", "drop_rate": 0.25}
    assert card["inputs"][0]["shape"] == ["batch", 3, 64, 64]
    module = timm.create_model(SMALL, num_classes=5, act_layer="gelu").eval()
    module.load_state_dict(exported.state_dict())
    pixels = torch.randn(2, 3, 64, 64)
    with torch.inference_mode():
        assert torch.allclose(exported(pixels), module(pixels), atol=1e-5)


def test_of_a_function_of_the_users_own(tmp_path: Path, succeed: Tool) -> None:
    model = ["--model", f"{NETS}:of_width", "--output", tmp_path / "m.pt"]
    succeed(NAME, *model, "--model-kwargs", "width=7", "name=('wide',)", "--num-classes", 3)
    exported, card = load_model(tmp_path / "m.pt")
    assert exported.state_dict()["0.weight"].shape == (7, 1, 3, 3) and card["num_classes"] == 3
    assert card["source"]["kwargs"] == {"width": 7, "name": ["wide"]}


def test_what_the_constructor_does_not_take(fail: Tool) -> None:
    for model in ("resnet18", f"timm:{SMALL}", f"{NETS}:of_width"):
        says = f"'{model.removeprefix('timm:')}' does not take colour (--model-kwargs): TypeError"
        fail(NAME, "--model", model, "--model-kwargs", "colour=1", code=4, says=says)
    fail(NAME, "--model", "resnet18", "--in-chans", 1, code=4, says="torchvision's constructor of resnet18 takes no number of "
         "channels (--in-chans): write a function of your own")  # fmt: skip
    fail(NAME, "--model", f"timm:{SMALL}", "--model-kwargs", "act_layer=no_such", code=4, says=f"'{SMALL}' failed: ")


def test_usage_faults(fail: Tool) -> None:
    for given, says in (
        (["--model-kwargs", "a=1", "a=2"], "gives the same name twice"),
        (["--model-kwargs", "a"], "'a' is not of the form NAME=VALUE"),
        (["--model-kwargs", "num_classes=5"], "num_classes=... is said by --num-classes"),
        (["--model-kwargs", "pretrained=True"], "pretrained=... is said by --pretrained"),
        (["--model-kwargs", "img_size=64"], "img_size=... is said by --img-size"),
        (["--img-size", "64", "--input-shape", "3,64,64"], "give it, or --img-size and --in-chans"),
        (["--img-size", "64x"], "is not a height and a width"),
        (["--in-chans", "0"], "is not a whole number above 0"),
    ):
        fail(NAME, "--model", f"timm:{SMALL}", *given, code=2, says=says)
    for option in ("--img-size", "--in-chans"):
        fail(NAME, "--model", f"{NETS}:make", option, "8", code=2, says=f"{option} is for the models of torchvision and timm")
    fail(NAME, "--model", "hf:net", "--model-kwargs", "a=1", code=2, says="--model-kwargs is not for models of transformers")


@pytest.mark.parametrize(
    "name",
    ["vit_tiny_patch16_224.augreg_in21k_ft_in1k", "deit3_small_patch16_384.fb_in22k_ft_in1k", "resnet18.a1_in1k",
     "swin_tiny_patch4_window7_224.ms_in1k", "convnext_atto.d2_in1k", "tf_efficientnet_b0.ns_jft_in1k"],
)  # fmt: skip
def test_another_size_of_timm(name: str) -> None:
    size = 256
    form = described(f"timm:{name}", "--img-size", size)
    config = get_pretrained_cfg(name).to_dict()
    found = resolve_data_config({"img_size": size}, pretrained_cfg=config, use_test_size=True)
    resize, crop, *_ = create_transform(**found, is_training=False).transforms
    sizes = [tuple(side) if isinstance(side, list | tuple) else (side, side) for side in (resize.size, crop.size)]
    assert [form.recipe.resize, form.recipe.crop] == sizes and form.recipe.crop_share == found["crop_pct"]
    assert form.input_shape == (3, size, size) and form.note is None
    module = find_model(f"timm:{name}", Asked(img_size=(size, size))).module.eval()
    assert module(torch.zeros(1, 3, size, size)).shape == (1, 1000)
    assert found == resolve_input_data_config(module, {"img_size": size}, use_test_size=True)


def test_a_size_that_is_no_square() -> None:
    form = described("timm:vit_tiny_patch16_224.augreg_in21k_ft_in1k", "--img-size", "64x128")
    assert form.input_shape == (3, 64, 128) and form.recipe.crop == (64, 128)
    assert form.recipe.resize == tuple(math.floor(side / form.recipe.crop_share) for side in (64, 128))


@pytest.mark.parametrize("name", ["resnet18.a1_in1k", "vit_tiny_patch16_224.augreg_in21k_ft_in1k"])
def test_grey_images_of_timm(name: str) -> None:
    form = described(f"timm:{name}", "--in-chans", 1)
    module = find_model(f"timm:{name}", Asked(in_chans=1)).module
    expected = resolve_input_data_config(module, {"in_chans": 1}, use_test_size=True)
    assert form.input_shape == expected["input_size"] and form.normalisation.channels == "L"
    assert form.normalisation.mean == expected["mean"] and form.normalisation.std == expected["std"]
    assert "for images of 3 channels: the card has their average" in form.note
    module.eval()(form.batch(2, torch.float32)[0])


def test_other_channels_of_timm(tmp_path: Path, succeed: Tool) -> None:
    options = ["--in-chans", 4, "--img-size", 64, "--output", tmp_path / "m.pt"]
    done = succeed(NAME, "--model", f"timm:{SMALL}.lamb_in1k", *options)
    assert done.stdout.splitlines()[0].endswith("the model takes 4: how they are normalised is not in the card")
    card = load_model(tmp_path / "m.pt")[1]
    assert card["inputs"][0]["shape"] == ["batch", 4, 64, 64] and "normalisation" not in card
    assert card["recipe"]["crop"] == [64, 64]


def test_another_size_of_torchvision() -> None:
    form = described("resnet18", "--img-size", "64x96", "--recipe", "IMAGENET1K_V1")
    assert form.input_shape == (3, 64, 96) and form.recipe.resize is None and "the model takes 64x96" in form.note
    args = arguments("vit_b_16", "--img-size", 32, "--model-kwargs", "image_size=32")
    found = find_model("vit_b_16", asked_of_constructor(args))
    assert found.input_shape == (3, 32, 32) and isinstance(found.module, torchvision.models.VisionTransformer)
    assert found.module.image_size == 32
