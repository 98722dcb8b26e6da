# SPDX-License-Identifier: Apache-2.0
"""The names of classes in the model card: from whom they come, and when they are left out."""

from pathlib import Path

import pytest
import timm
import torch
import torchvision
import transformers
from library_caches import caches, no_network, publish_timm, publish_torchvision
from oracle import load_model
from timm.data import ImageNetInfo, infer_imagenet_subset
from timm.models import get_pretrained_cfg, list_models

from conftest import NEEDS_PROGRAM, Tool
from tally_export.class_names import of_published
from tally_export.published import Published, published_weights

__all__ = ["caches", "no_network"]
NAME = "export_model"
NETS = Path(__file__).with_name("own_nets.py")
SMALL = "mobilenetv3_small_050"
SQUEEZE = torchvision.models.SqueezeNet1_1_Weights.IMAGENET1K_V1
TEXT = {"vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}


def card_of(succeed: Tool, folder: Path, model: object, *options: object) -> dict:
    succeed(NAME, "--model", model, "--output", folder / "m.pt", "--overwrite", *options)
    return load_model(folder / "m.pt")[1]


def published(library: str, model: str, tag: str) -> Published:
    return next(one for one in published_weights(library, model) if one.tag == tag)


def test_synsets_are_in_the_order_of_torchvisions_titles() -> None:
    names, info = of_published(published("torchvision", "resnet18", "IMAGENET1K_V1")).names, ImageNetInfo()
    assert names == tuple(info.label_names()) and names[0] == "n01440764" and len(names) == 1000
    titles = torchvision.models.ResNet18_Weights.IMAGENET1K_V1.meta["categories"]
    lemmas = [info.label_name_to_description(name).split(", ") for name in names]
    known = sum(title in lemma for title, lemma in zip(titles, lemmas, strict=True))
    assert known > 990  # the others are written otherwise; in another order hardly any would agree
    assert of_published(published("torchvision", "vgg16", "IMAGENET1K_FEATURES")) is None


def test_classes_of_timm() -> None:
    tags = {
        1000: "resnet18.a1_in1k", 11221: "mobilenetv3_large_100.miil_in21k", 11821: "convnext_nano.in12k",
        21841: "convnext_tiny.fb_in22k", 21842: "focalnet_huge_fl3.ms_in22k", 21843: "mixer_b16_224.goog_in21k",
    }  # fmt: skip
    for num_classes, full_name in tags.items():
        model, _, tag = full_name.partition(".")
        subset = infer_imagenet_subset(get_pretrained_cfg(full_name).to_dict())
        names = of_published(published("timm", model, tag)).names
        assert names == tuple(ImageNetInfo(subset).label_names()) and len(names) == num_classes
    assert of_published(published("timm", "resmlp_12_224", "fb_dino")) is None  # 1000 outputs, learnt without labels
    of_1000 = {name for name in list_models(pretrained=True) if get_pretrained_cfg(name).num_classes == 1000}
    assert {name for name in of_1000 if "in1k" not in name} == {"resmlp_12_224.fb_dino", "resmlp_24_224.fb_dino"}


def test_weights_that_are_known(caches: Path, monkeypatch: pytest.MonkeyPatch, succeed: Tool) -> None:
    synsets = ImageNetInfo().label_names()
    publish_torchvision(caches, monkeypatch, SQUEEZE, torchvision.models.squeezenet1_1().state_dict())
    assert card_of(succeed, caches, "squeezenet1_1", "--pretrained", "--recipe", "none")["class_names"] == synsets
    publish_timm(caches, f"{SMALL}.lamb_in1k", timm.create_model(SMALL).state_dict())
    assert card_of(succeed, caches, SMALL, "--pretrained")["class_names"] == synsets
    assert "class_names" not in card_of(succeed, caches, SMALL, "--pretrained", "--num-classes", 5)
    assert "class_names" not in card_of(succeed, caches, SMALL)


@NEEDS_PROGRAM
def test_weights_of_a_file(caches: Path, monkeypatch: pytest.MonkeyPatch, succeed: Tool) -> None:
    """The library's file is known by its hash, or by its name; a file of 1000 classes may be of any."""
    path = publish_torchvision(caches, monkeypatch, SQUEEZE, torchvision.models.squeezenet1_1().state_dict())
    own = path.with_name("own.pth")
    own.write_bytes(path.read_bytes())
    assert "class_names" in card_of(succeed, caches, "squeezenet1_1", "--weights", own, "--recipe", "none")
    torch.save(torchvision.models.squeezenet1_1().state_dict(), own)
    assert "class_names" not in card_of(succeed, caches, "squeezenet1_1", "--weights", own)
    path.write_bytes(own.read_bytes())
    assert "class_names" in card_of(succeed, caches, "squeezenet1_1", "--weights", path)
    assert "class_names" not in card_of(succeed, caches, "squeezenet1_1", "--weights", path, "--recipe", "none")
    torch.save(timm.create_model(SMALL).state_dict(), own)
    assert "class_names" not in card_of(succeed, caches, f"timm:{SMALL}.lamb_in1k", "--weights", own)
    link = publish_timm(caches, f"{SMALL}.lamb_in1k", timm.create_model(SMALL).state_dict())
    assert "class_names" in card_of(succeed, caches, f"timm:{SMALL}.lamb_in1k", "--weights", link)


@pytest.mark.parametrize("head", ["SequenceClassification", "TokenClassification"])
def test_transformers(tmp_path: Path, succeed: Tool, head: str) -> None:
    names = ["B-PER", "O", "O"]
    for labels in ({0: names[0], 1: names[1], 2: names[2]}, {0: "LABEL_0", 1: "LABEL_1"}):
        config = transformers.BertConfig(**TEXT, id2label=labels, architectures=[f"BertFor{head}"])
        config.save_pretrained(tmp_path / "net")
        card = card_of(succeed, tmp_path, f"hf:{tmp_path / 'net'}")
        assert card.get("class_names") == (names if len(labels) == 3 else None)
        assert card["outputs"][0]["shape"][-1] == len(labels)


def test_transformers_of_images_and_others(tmp_path: Path, succeed: Tool) -> None:
    labels, sizes = {0: "cat", 1: "dog"}, {name: TEXT[name] for name in TEXT if name != "vocab_size"}
    named = {"id2label": labels, "architectures": ["ViTForImageClassification"]}
    vit = transformers.ViTConfig(**sizes, **named, image_size=16, patch_size=8)
    vit.save_pretrained(tmp_path / "vit")
    assert card_of(succeed, tmp_path, f"hf:{tmp_path / 'vit'}")["class_names"] == ["cat", "dog"]
    named["architectures"] = ["GPT2LMHeadModel"]
    gpt = transformers.GPT2Config(vocab_size=2, n_embd=8, n_layer=1, n_head=1, **named)
    gpt.save_pretrained(tmp_path / "gpt")
    assert "class_names" not in card_of(succeed, tmp_path, f"hf:{tmp_path / 'gpt'}")


def test_a_file_of_names(tmp_path: Path, succeed: Tool, fail: Tool) -> None:
    file, model = tmp_path / "names.txt", f"{NETS}:of_width"
    file.write_bytes("\ufeffone\r\nzwei Wörter\r\none\r\n vier \r\n\r\n".encode())
    assert card_of(succeed, tmp_path, model, "--class-names", file)["class_names"] == ["one", "zwei Wörter", "one", "vier"]
    options = ["--model", model, "--class-names", file]
    fail(NAME, *options, "--num-classes", 3, code=3, says=f"'{file}' names 4 classes, the model has 3")
    file.write_text("one\n\nthree\nfour\n")
    fail(NAME, *options, code=3, says=f"'{file}', line 2 is empty, expected the name of a class")
    file.write_bytes(b"\xff\xfe\n")
    fail(NAME, *options, code=3, says="are not text in UTF-8")
    file.write_text("\n")
    fail(NAME, *options, code=3, says="hold no name")
    file.unlink()
    fail(NAME, *options, code=3, says=f"'{file}' does not exist")


def test_a_file_of_names_of_tokens(tmp_path: Path, succeed: Tool, fail: Tool) -> None:
    file = tmp_path / "names.txt"
    file.write_text("a\nb\n")
    for head in ("TokenClassification", "QuestionAnswering"):
        transformers.BertConfig(**TEXT, architectures=[f"BertFor{head}"]).save_pretrained(tmp_path / head)
    card = card_of(succeed, tmp_path, f"hf:{tmp_path / 'TokenClassification'}", "--class-names", file)
    assert card["class_names"] == ["a", "b"]
    fail(NAME, "--model", f"hf:{tmp_path / 'QuestionAnswering'}", "--class-names", file, code=3,
         says="names 2 classes, the model's outputs do not show how many it has")  # fmt: skip


def test_names_of_the_users_own_module(tmp_path: Path, succeed: Tool, fail: Tool) -> None:
    names = ["a", "b", "b", "d"]
    assert card_of(succeed, tmp_path, f"{NETS}:with_names")["class_names"] == names
    (tmp_path / "names.txt").write_text("1\n2\n3\n4\n")
    other = card_of(succeed, tmp_path, f"{NETS}:with_names", "--class-names", tmp_path / "names.txt")
    assert other["class_names"] == ["1", "2", "3", "4"]
    fail(NAME, "--model", f"{NETS}:with_names", "--model-kwargs", "names=['a']", code=4,
         says="the module's tally_card names 1 classes, the model has 4")  # fmt: skip
    for wrong in ("names='abcd'", "names=['a','b','c',4]", "names=['a','b','c','']"):
        options = ["--model", f"{NETS}:with_names", "--model-kwargs", wrong]
        fail(NAME, *options, code=4, says="'class_names' of the module's tally_card must be a list of texts")
