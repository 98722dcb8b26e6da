# SPDX-License-Identifier: Apache-2.0
"""export_model --model hf:...: multiple choice heads; models that no task scores are refused unloaded."""

import json
from pathlib import Path

import pytest
import torch
import transformers
from oracle import load_model

from conftest import Tool

NAME = "export_model"
SIZES = {
    "vocab_size": 60, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64,
    "max_position_embeddings": 72,
}  # fmt: skip
ENCODER_DECODERS = {
    "T5ForConditionalGeneration": {"d_model": 8, "d_ff": 8, "num_layers": 1, "num_heads": 1, "d_kv": 8, "vocab_size": 9},
    "BartForSequenceClassification": {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "vocab_size": 9},
    "MarianMTModel": {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "vocab_size": 9},
}


@pytest.mark.parametrize("name", ENCODER_DECODERS)
def test_encoder_decoders(tmp_path: Path, fail: Tool, name: str) -> None:
    """Before any of it is loaded or run: its weights are no file that could be read."""
    config = getattr(transformers, name).config_class(**ENCODER_DECODERS[name], architectures=[name])
    config.save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"x")
    fail(NAME, "--model", f"hf:{tmp_path}", code=4, says=f"encoder-decoder models are not supported, and {name} is one")


def test_the_decoder_of_an_encoder_decoder(tmp_path: Path, succeed: Tool) -> None:
    sizes = {"decoder_layers": 1, "decoder_attention_heads": 1, "decoder_ffn_dim": 8, "max_position_embeddings": 200}
    config = transformers.BartConfig(**(ENCODER_DECODERS["MarianMTModel"] | sizes), architectures=["BartForCausalLM"])
    config.save_pretrained(tmp_path)
    content = json.loads((tmp_path / "config.json").read_text())
    assert content["is_encoder_decoder"]
    succeed(NAME, "--model", f"hf:{tmp_path}", "--output", tmp_path / "m.pt")


CHOICE_HEADS = [
    ("BertForMultipleChoice", {}, ("input_ids", "attention_mask", "token_type_ids")),
    (
        "DebertaV2ForMultipleChoice",
        {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
        ("input_ids", "attention_mask"),
    ),
]


def choice_batch(names: tuple[str, ...], *sizes: int) -> dict[str, torch.Tensor]:
    """sizes: questions, choices, tokens; rows get shorter."""
    count, length = sizes[0] * sizes[1], sizes[2]
    mask = (torch.arange(length) < torch.linspace(length, 1, count).long()[:, None]).long()
    found = {"input_ids": torch.randint(2, 60, (count, length)), "attention_mask": mask, "token_type_ids": mask}
    return {name: (found[name] * mask).reshape(sizes) for name in names}


@torch.inference_mode()
@pytest.mark.parametrize(("class_name", "more", "names"), CHOICE_HEADS)
def test_models_of_multiple_choice(
    tmp_path: Path, succeed: Tool, class_name: str, more: dict[str, object], names: tuple[str, ...]
) -> None:
    """Of any number of questions, choices and tokens."""
    torch.manual_seed(3)
    base = getattr(transformers, class_name)
    module = base(base.config_class(**SIZES, **more)).eval()
    module.save_pretrained(tmp_path / "net")
    done = succeed(NAME, "--model", f"hf:{tmp_path / 'net'}", "--output", tmp_path / "m.pt")
    assert "traced, fp32 input_ids, attention_mask" in done.stdout
    exported, card = load_model(tmp_path / "m.pt")
    entry = {"dtype": "int64", "shape": ["batch", "choices", "sequence"]}
    assert card["inputs"] == [{"name": name} | entry for name in names]
    scores = {"name": "logits", "kind": "logits", "dtype": "float32", "shape": ["batch", "choices"]}
    assert card["outputs"] == [scores] and card["fixed_batch"] is None and card["weights"] == "swappable"
    assert not {"num_classes", "class_names"} & set(card)
    for sizes in ((1, 1, 1), (1, 2, 70), (2, 4, 17), (9, 5, 16), (3, 3, 64)):
        batch = choice_batch(names, *sizes)
        expected, found = module(**batch).logits, exported(*batch.values())
        assert found.shape == expected.shape == sizes[:2]
        assert torch.allclose(found, expected, rtol=1e-4, atol=1e-5), sizes


def test_package_of_multiple_choice(tmp_path: Path, succeed: Tool) -> None:
    class_name, more, names = CHOICE_HEADS[0]
    torch.manual_seed(3)
    module = getattr(transformers, class_name)(transformers.BertConfig(**SIZES, **more)).eval()
    module.save_pretrained(tmp_path / "net")
    succeed(NAME, "--model", f"hf:{tmp_path / 'net'}", "--format", "pt2", "--output", tmp_path / "m.pt2")
    package = torch._inductor.aoti_load_package(str(tmp_path / "m.pt2"))
    for sizes in ((1, 2, 5), (2, 4, 17), (20, 5, 70)):
        batch = choice_batch(names, *sizes)
        with torch.inference_mode():
            assert torch.allclose(package(*batch.values()), module(**batch).logits, rtol=1e-4, atol=1e-5), sizes


def test_names_of_choices(tmp_path: Path, fail: Tool) -> None:
    """The model has as many classes as a question has choices."""
    transformers.BertConfig(**SIZES, architectures=["BertForMultipleChoice"]).save_pretrained(tmp_path)
    (tmp_path / "names").write_text("A\nB\nC\n")
    says = "names' names 3 classes, the model's outputs do not show how many it has"
    fail(NAME, "--model", f"hf:{tmp_path}", "--class-names", tmp_path / "names", code=3, says=says)
