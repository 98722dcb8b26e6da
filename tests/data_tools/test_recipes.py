# SPDX-License-Identifier: Apache-2.0
"""The recipe of a model's card: what the libraries' own transforms do, and when it is known whose it is."""

import argparse
import hashlib
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torchvision
import transformers
from oracle import load_model
from tally_data.encoding import IMAGENET, ImageEncoding
from tally_data.errors import UsageError
from timm.data import create_transform, resolve_data_config
from timm.models import get_pretrained_cfg
from torch import nn
from torchvision import transforms

from conftest import Tool
from tally_export import card
from tally_export.recipe import Recipe, differing, library_recipe
from tally_export.recipe_choice import Choice, choose_recipe
from tally_export.constructor import FoundModel

NAME = "export_model"
# Of each mode, interpolation, normalisation and kind of size some.
TIMM = [
    "beit_base_patch16_224.in22k_ft_in22k_in1k", "beitv2_base_patch16_224.in1k_ft_in22k_in1k", "convnext_atto.d2_in1k",
    "convnext_base.fb_in22k_ft_in1k_384", "deit3_small_patch16_384.fb_in22k_ft_in1k", "densenet121.ra_in1k",
    "dpn68.mx_in1k", "efficientnet_b0.ra_in1k", "efficientnetv2_rw_s.ra2_in1k", "eva02_tiny_patch14_336.mim_in22k_ft_in1k",
    "fastvit_t8.apple_in1k", "ghostnet_100.in1k", "hrnet_w18_small.gluon_in1k", "inception_v3.tv_in1k", "levit_128.fb_dist_in1k",
    "maxvit_tiny_tf_224.in1k", "mixer_b16_224.goog_in21k_ft_in1k", "mobilenetv3_small_100.lamb_in1k", "nfnet_l0.ra2_in1k",
    "pit_ti_224.in1k", "regnetx_002.pycls_in1k", "resnet18.a1_in1k", "resnet50.a1_in1k", "resnet50.gluon_in1k",
    "resnet50.tv_in1k", "resnetv2_50x1_bit.goog_in21k_ft_in1k", "rexnet_100.nav_in1k", "swin_tiny_patch4_window7_224.ms_in1k",
    "swinv2_tiny_window8_256.ms_in1k", "tf_efficientnet_b0.aa_in1k", "tf_efficientnet_b0.ns_jft_in1k", "vgg11.tv_in1k",
    "vit_base_patch16_clip_224.openai_ft_in1k", "vit_tiny_patch16_224.augreg_in21k_ft_in1k", "xception41.tf_in1k",
]  # fmt: skip
TORCHVISION = [
    "alexnet", "convnext_tiny", "efficientnet_b1", "efficientnet_v2_s", "inception_v3", "maxvit_t", "mobilenet_v3_small",
    "regnet_y_128gf", "resnet18", "resnet50", "squeezenet1_1", "swin_v2_t", "vgg16", "vit_b_16", "vit_h_14",
]  # fmt: skip


def done_by(steps: transforms.Compose) -> dict[str, object]:
    """What a library's own transform does, from its objects."""
    resize, crop, *_, normalise = steps.transforms
    squashes = not isinstance(resize.size, int)
    size = tuple(resize.size) if squashes else (resize.size, resize.size)
    encoding = ImageEncoding("RGB", IMAGENET.scale, normalise.mean.tolist(), normalise.std.tolist())
    mode = "squash" if squashes else "center"
    return {"resize": size, "crop": tuple(crop.size), "crop_mode": mode, "interpolation": resize.interpolation.value,
            "encoding": encoding}  # fmt: skip


def check_timm(name: str) -> None:
    config = resolve_data_config({}, pretrained_cfg=get_pretrained_cfg(name).to_dict(), use_test_size=True)
    recipe = library_recipe(f"timm:{name}")
    expected = done_by(create_transform(**config, is_training=False))
    close = [torch.tensor(values, dtype=torch.float32) for values in (recipe.encoding.mean, recipe.encoding.std)]
    assert [values.tolist() for values in close] == [list(expected["encoding"].mean), list(expected["encoding"].std)]
    known = {name: value for name, value in recipe.known.items() if name not in ("encoding", "crop_share")}
    assert known == {name: value for name, value in expected.items() if name != "encoding"}
    assert recipe.source == f"timm:{name}" and recipe.crop_share == config["crop_pct"]


@pytest.mark.parametrize("name", TIMM)
def test_timm_transforms(name: str) -> None:
    check_timm(name)


@pytest.mark.parametrize("model", TORCHVISION)
def test_torchvision_transforms(model: str) -> None:
    for weights in torchvision.models.get_model_weights(model):
        recipe, own = library_recipe(f"torchvision:{weights}"), weights.transforms()
        assert recipe.resize == (own.resize_size[0],) * 2 and recipe.crop == (own.crop_size[0],) * 2
        assert recipe.crop_mode == "center" and recipe.interpolation == own.interpolation.value
        assert list(recipe.encoding.mean) == own.mean and list(recipe.encoding.std) == own.std
        assert recipe.crop_share == recipe.crop[0] / recipe.resize[0]


def found_timm(name: str) -> FoundModel:
    config = get_pretrained_cfg(name).to_dict()
    module = SimpleNamespace(pretrained_cfg=config, num_classes=config["num_classes"])
    return FoundModel(module, f"timm:{name}", (3, 224, 224))


def found_torchvision(name: str) -> FoundModel:
    return FoundModel(nn.Identity(), f"torchvision:{name}", (3, 224, 224))


def choose(found: FoundModel, asked: str | None = None, num_classes: int | None = None, weights: Path | None = None,
           size: tuple[int, ...] | None = None) -> Choice:  # fmt: skip
    return choose_recipe(asked, found, num_classes, weights, size)


def test_a_name_with_its_tag_is_known() -> None:
    choice = choose(found_timm("vit_tiny_patch16_224.augreg_in21k_ft_in1k"))
    assert choice.note is None and choice.recipe.encoding.mean == (0.5,) * 3


def test_what_all_weights_share_is_known() -> None:
    choice = choose(found_torchvision("resnet18"))
    assert choice.recipe.source == "torchvision:ResNet18_Weights.IMAGENET1K_V1"
    assert "(IMAGENET1K_V1); --recipe TAG|none" in choice.note
    choice = choose(found_torchvision("resnet50"))
    assert choice.recipe.known == {
        "encoding": IMAGENET, "crop": (224, 224), "crop_mode": "center", "interpolation": "bilinear",
    }  # fmt: skip
    assert choice.recipe.source == "torchvision:resnet50" and "IMAGENET1K_V1, IMAGENET1K_V2" in choice.note
    assert "they differ in resize, crop_share" in choice.note
    # These of timm do not even agree on mean and std.
    choice = choose(found_timm("tf_efficientnet_b0"))
    assert choice.recipe.encoding is None and "they differ in normalisation;" in choice.note


def test_an_option_says_whose_it_is() -> None:
    resnet = found_torchvision("resnet50")
    assert choose(resnet, "none") == Choice(None)
    assert choose(resnet, "IMAGENET1K_V1").recipe.resize == (256, 256)
    assert choose(resnet, "IMAGENET1K_V2").recipe.resize == (232, 232)
    assert choose(resnet, "timm:resnet50.a1_in1k").recipe.crop == (288, 288)
    assert choose(found_timm("resnet50"), "tv_in1k").recipe.interpolation == "bilinear"
    own = FoundModel(nn.Identity(), "nets.py:make", None, is_own=True)
    assert choose(own) == Choice(None)
    assert choose(own, "ResNet18_Weights.IMAGENET1K_V1").recipe.resize == (256, 256)
    for wrong in ("IMAGENET1K_V3", "resnet18.no_such", "torchvision:No_Weights.IMAGENET1K_V1", "", "no.such"):
        with pytest.raises(UsageError, match="it has IMAGENET1K_V1, IMAGENET1K_V2"):
            choose(resnet, wrong)
        with pytest.raises(UsageError, match="--recipe"):
            choose(own, wrong)


def test_weights_for_other_classes_are_not_known() -> None:
    for found in (found_torchvision("resnet18"), found_timm("vit_tiny_patch16_224")):
        choice = choose(found, num_classes=12)
        assert choice.recipe is None and "for 12 classes; --recipe TAG says it" in choice.note
    choice = choose(found_torchvision("resnet18"), "IMAGENET1K_V1", num_classes=12)
    assert choice.recipe.encoding == IMAGENET


def test_files_of_the_libraries_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = found_torchvision("resnet50")
    file = tmp_path / "resnet50-0676ba61.pth"
    file.write_bytes(b"others")
    choice = choose(found, weights=file)
    assert choice.recipe.resize == (256, 256) and "IMAGENET1K_V1 by its name" in choice.note
    mine = file.rename(tmp_path / "mine.pth")
    assert choose(found, weights=mine).recipe.resize is None
    digest = SimpleNamespace(hexdigest=lambda: "11ad3fa6" + "0" * 56)
    monkeypatch.setattr(hashlib, "file_digest", lambda *_: digest)
    choice = choose(found, weights=mine)
    assert choice.recipe.resize == (232, 232) and choice.note is None
    hub = tmp_path / "models--timm--resnet50.a1_in1k" / "snapshots" / "0" / "model.safetensors"
    assert choose(found_timm("resnet50"), weights=hub).recipe.source == "timm:resnet50.a1_in1k"


def test_another_size_of_images() -> None:
    choice = choose(found_timm("resnet50.a1_in1k"), size=(160, 160))
    assert choice.recipe.crop == (160, 160) and choice.recipe.resize == (160, 160)  # timm's own rule
    choice = choose(found_torchvision("resnet18"), "IMAGENET1K_V1").for_size((64, 64))
    assert choice.recipe.resize is None and choice.recipe.encoding == IMAGENET and "the model takes 64x64" in choice.note


def test_what_recipes_share() -> None:
    one = Recipe("a", IMAGENET, (8, 8), None, 0.5, "center")
    assert differing([one, one]) == []
    assert differing([one, Recipe("b", None, (9, 8), None, 0.5, "squash")]) == ["resize", "crop_mode"]


def options(**given: object) -> argparse.Namespace:
    names = ("recipe", "num_classes", "weights", "input_shape", "img_size", "in_chans", "output_names", "outputs", "channels",
             "scale", "mean", "std")  # fmt: skip
    return argparse.Namespace(**(dict.fromkeys(names) | given))


def test_options_win() -> None:
    found = found_timm("vit_tiny_patch16_224.augreg_in21k_ft_in1k")
    form = card.describe(options(mean=(0.25,) * 3, std=(0.125,) * 3), {}, found)
    assert form.normalisation.mean == (0.25,) * 3 and form.normalisation.std == (0.125,) * 3
    with pytest.raises(UsageError, match="at least --mean and --std"):
        card.describe(options(mean=(0.25,) * 3), {}, found)
    form = card.describe(options(mean=(0.25,) * 3, recipe="augreg_in21k_ft_in1k"), {}, found)
    assert form.normalisation.mean == (0.25,) * 3 and form.normalisation.std == (0.5,) * 3
    form = card.describe(options(channels="BGR"), {}, found_torchvision("resnet18"))
    assert form.normalisation.mean == IMAGENET.mean[::-1]
    own = {"normalisation": {"channels": "RGB", "scale": 1.0, "mean": [1, 2, 3], "std": [1, 1, 1]},
           "inputs": [{"shape": [3, 224, 224]}]}  # fmt: skip
    net = FoundModel(nn.Identity(), "nets.py:make", None, is_own=True)
    assert card.describe(options(), own, net).normalisation.mean == (1, 2, 3)
    asked = card.describe(options(recipe="timm:resnet18.a1_in1k"), own, net)
    assert asked.normalisation == IMAGENET and asked.recipe.source == "timm:resnet18.a1_in1k"


def test_card_of_an_exported_model(tmp_path: Path, succeed: Tool) -> None:
    name = "mobilenetv3_small_050"
    done = succeed(NAME, "--model", f"timm:{name}", "--output", tmp_path / "m.pt")
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"note: images are taken to be prepared as for timm's weights of {name} (lamb_in1k)")
    assert lines[1] == f"prepare images with: prepare_imagefolder.py --like {tmp_path / 'm.pt'}"
    assert "random weights (seed 0)" in lines[2]
    found = load_model(tmp_path / "m.pt")[1]
    assert found["normalisation"] == {
        "scale": 1 / 255, "mean": list(IMAGENET.mean), "std": list(IMAGENET.std), "channels": "RGB",
    }  # fmt: skip
    assert found["recipe"] == {
        "source": f"timm:{name}.lamb_in1k", "resize": [256, 256], "crop": [224, 224], "crop_share": 0.875,
        "crop_mode": "center", "interpolation": "bicubic",
    }  # fmt: skip
    assert found["source"]["weights"] is None


def test_faults(fail: Tool, tmp_path: Path) -> None:
    fail(NAME, "--model", "resnet18", "--recipe", "V9", code=2, says="resnet18 has no weights 'V9'; it has IMAGENET1K_V1")
    net = transformers.BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8,
                                  architectures=["BertForSequenceClassification"])  # fmt: skip
    net.save_pretrained(tmp_path / "text")
    fail(NAME, "--model", f"hf:{tmp_path / 'text'}", "--recipe", "none", code=2, says="--recipe is for models of images")
