# SPDX-License-Identifier: Apache-2.0
"""The recipe of a Hugging Face folder: what its image processor does, and what of it the card can say."""

from pathlib import Path

import pytest
import torch
import transformers
from oracle import load_model
from tally_data.encoding import ImageEncoding
from tally_data.errors import ModelError

from conftest import Tool
from tally_export.hugging_face_recipe import of_hugging_face

NAME = "export_model"
# Class of transformers, its settings, and resize, crop, crop share, mode, interpolation.
PROCESSORS = [
    ("ViT", {"size": {"height": 64, "width": 64}}, ((64, 64), (64, 64), 1.0, "squash", "bilinear")),
    ("DeiT", {}, ((256, 256), (224, 224), 0.875, "squash", "bicubic")),
    ("CLIP", {}, ((224, 224), (224, 224), 1.0, "center", "bicubic")),
    ("ConvNext", {"size": {"shortest_edge": 224}, "crop_pct": 0.875}, ((256, 256), (224, 224), 0.875, "center", "bicubic")),
    ("ConvNext", {"size": {"shortest_edge": 384}}, ((384, 384), (384, 384), 1.0, "squash", "bicubic")),
    ("MobileNetV2", {}, ((256, 256), (224, 224), 0.875, "center", "bilinear")),
    ("Levit", {}, (None,) * 5),  # resizes by a rule of its own
]


@pytest.mark.parametrize(("kind", "settings", "expected"), PROCESSORS)
def test_hugging_face_processors(tmp_path: Path, kind: str, settings: dict, expected: tuple) -> None:
    processor = getattr(transformers, f"{kind}ImageProcessor")(**settings)
    processor.save_pretrained(tmp_path / "net")
    recipe = of_hugging_face(tmp_path / "net").recipe
    assert recipe.source == f"hf:net:{kind}ImageProcessor"
    assert (recipe.resize, recipe.crop, recipe.crop_share, recipe.crop_mode, recipe.interpolation) == expected
    assert recipe.encoding.mean == tuple(processor.image_mean) and recipe.encoding.std == tuple(processor.image_std)


def test_hugging_face_encoding_is_proved(tmp_path: Path) -> None:
    efficient = transformers.EfficientNetImageProcessor
    for settings in ({}, {"include_top": False, "rescale_offset": True}):  # by default it normalises twice
        efficient(**settings).save_pretrained(tmp_path)
        choice = of_hugging_face(tmp_path)
        assert choice.recipe.encoding is None and choice.recipe.crop == (346, 346)
        assert "normalises images is not known to be (u8 * scale - mean) / std" in choice.note and "(--recipe)" in choice.note
    efficient(include_top=False).save_pretrained(tmp_path)
    choice = of_hugging_face(tmp_path)
    assert choice.note is None and choice.recipe.encoding.std == tuple(efficient.image_std)
    transformers.MobileViTImageProcessor().save_pretrained(tmp_path)
    assert of_hugging_face(tmp_path).recipe.encoding == ImageEncoding("BGR", 1 / 255, (0.0,) * 3, (1.0,) * 3)
    transformers.ViTImageProcessor(do_rescale=False, image_mean=[1, 2, 3], image_std=[4, 5, 6]).save_pretrained(tmp_path)
    choice = of_hugging_face(tmp_path)
    assert choice.note is None and choice.recipe.encoding == ImageEncoding("RGB", 1.0, (1, 2, 3), (4, 5, 6))


def test_hugging_face_sizes_that_no_recipe_can_say(tmp_path: Path) -> None:
    settings = (
        {"size": {"longest_edge": 64}}, {"size": {"shortest_edge": 64, "longest_edge": 80}}, {"do_resize": False},
    )  # fmt: skip
    for setting in settings:
        transformers.ViTImageProcessor(**setting).save_pretrained(tmp_path)
        choice = of_hugging_face(tmp_path)
        assert list(choice.recipe.known) == ["encoding"] and "resizes and crops images is not in the card" in choice.note
    for number, word in ((4, "box"), (5, "hamming")):
        transformers.ViTImageProcessor(resample=number).save_pretrained(tmp_path)
        assert of_hugging_face(tmp_path).recipe.interpolation == word


def test_hugging_face_processors_that_are_not_known(tmp_path: Path) -> None:
    assert "has no preprocessor_config.json" in of_hugging_face(tmp_path).note
    config = tmp_path / "preprocessor_config.json"
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass P: pass\n")
    for content in ('{"image_processor_type": "No"}', "{}",
                    '{"auto_map": {"AutoImageProcessor": "own.P"}, "image_processor_type": "P"}'):  # fmt: skip
        config.write_text(content)
        choice = of_hugging_face(tmp_path)
        assert choice.recipe is None and "is not known here" in choice.note and "(--recipe)" in choice.note
    assert not (tmp_path / "ran").exists()
    config.write_text('{"image_processor_type": "ViTImageProcessor", "resample": 77, "image_mean": [0.5]}')
    choice = of_hugging_face(tmp_path)
    assert choice.recipe is None and "(--recipe)" in choice.note


def test_hugging_face_faults(tmp_path: Path) -> None:
    for content, says in ((b"{", "cannot be read as JSON"), (b"\xff\xfe{", "cannot be read as JSON"), (b"[]", "JSON object")):
        (tmp_path / "preprocessor_config.json").write_bytes(content)
        with pytest.raises(ModelError, match=says):
            of_hugging_face(tmp_path)


def test_hugging_face_model_of_images(tmp_path: Path, succeed: Tool) -> None:
    folder = tmp_path / "vit"
    torch.manual_seed(3)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    module = transformers.ViTForImageClassification(transformers.ViTConfig(**sizes, image_size=32, num_labels=5)).eval()
    module.save_pretrained(folder)
    transformers.ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(folder)
    succeed(NAME, "--model", f"hf:{folder}", "--output", tmp_path / "m.pt")
    exported, found = load_model(tmp_path / "m.pt")
    pixels = torch.randn(5, 3, 32, 32)
    with torch.inference_mode():
        assert torch.allclose(exported(pixels), module(pixels).logits, atol=1e-5)
    assert found["inputs"] == [{"name": "pixel_values", "dtype": "float32", "shape": ["batch", 3, 32, 32]}]
    assert found["normalisation"]["mean"] == [0.5] * 3 and found["recipe"]["crop_mode"] == "squash"
    (folder / "preprocessor_config.json").write_text('{"image_processor_type": "No"}')
    done = succeed(NAME, "--model", f"hf:{folder}", "--output", tmp_path / "n.pt")
    assert "note: the image processor of" in done.stdout and "recipe" not in load_model(tmp_path / "n.pt")[1]
