# SPDX-License-Identifier: Apache-2.0
"""export_model --model hf:...: what it gives is what transformers gives, whatever the batch; and each refusal."""

import hashlib
import json
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import pytest
import torch
import transformers
from library_caches import no_network
from oracle import load_model
from safetensors.torch import save_file

from conftest import NEEDS_PROGRAM, TOOLS, Tool

__all__ = ["no_network"]

NAME = "export_model"
SIZES = {
    "vocab_size": 60, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64,
    "max_position_embeddings": 70,
}  # fmt: skip
QUESTIONS = "BertForQuestionAnswering"
THREE = ("input_ids", "attention_mask", "token_type_ids")


def make(class_name: str = QUESTIONS, seed: int = 7, **more: object) -> transformers.PreTrainedModel:
    torch.manual_seed(seed)
    found = getattr(transformers, class_name)
    return found(found.config_class(**(SIZES | more))).eval()


def write_config(folder: Path, class_name: str | None = QUESTIONS, **more: object) -> Path:
    folder.mkdir(exist_ok=True)
    content = {"model_type": "bert", **SIZES, **more} | ({"architectures": [class_name]} if class_name else {})
    (folder / "config.json").write_text(json.dumps(content))
    return folder


def export(succeed: Tool, output: Path, model: Path, *options: object) -> tuple[torch.jit.ScriptModule, dict]:
    done = succeed(NAME, "--model", f"hf:{model}", "--output", output, *options)
    assert done.stderr == ""
    return load_model(output)


def batch(size: int, length: int, names: tuple[str, ...] = THREE) -> tuple[torch.Tensor, ...]:
    """Rows of different length but for the first; of a batch of two or more one is very short."""
    ids = torch.randint(1, SIZES["vocab_size"], (size, length))
    places = torch.arange(length)
    lengths = torch.linspace(length, 1, size).long()[:, None]
    mask = (places < lengths).long()
    inputs = {"input_ids": ids * mask, "attention_mask": mask, "token_type_ids": mask * (places > 3)}
    return tuple(inputs[name] for name in names)


@torch.inference_mode()
def check_same(exported: torch.nn.Module, module: torch.nn.Module, names: tuple[str, ...] = THREE) -> None:
    for sizes in ((1, 1), (1, 70), (2, 17), (9, 16), (5, 64)):
        inputs = batch(*sizes, names)
        expected = module(**dict(zip(names, inputs, strict=True)))
        wanted = [expected[name] for name in ("start_logits", "end_logits", "logits") if name in expected]
        found = exported(*inputs)
        found = found if isinstance(found, tuple) else (found,)
        assert len(found) == len(wanted) > 0
        for one, other in zip(found, wanted, strict=True):
            assert torch.allclose(one, other, rtol=1e-4, atol=1e-5), sizes


def test_folder_with_weights(tmp_path: Path, succeed: Tool) -> None:
    module, folder = make(), tmp_path / "net"
    module.save_pretrained(folder)
    exported, card = export(succeed, tmp_path / "m.pt", folder)
    check_same(exported, module)
    assert set(module.state_dict()) <= set(exported.state_dict())
    fixed = card.pop("fixed_buffers")
    assert set(fixed) == set(exported.state_dict()) - set(module.state_dict())
    entry = {"dtype": "int64", "shape": ["batch", "sequence"]}
    scores = {"kind": "logits", "dtype": "float32", "shape": ["batch", "sequence"]}
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    assert card == {
        "tally_card": 1,
        "inputs": [{"name": name} | entry for name in THREE],
        "outputs": [{"name": "start_logits"} | scores, {"name": "end_logits"} | scores],
        "fixed_batch": None,
        "weights": "swappable",
        "source": {
            "model": f"hf:net:{QUESTIONS}",
            "torch": torch.__version__,
            "weights": {"path": "model.safetensors", "sha256": digest},
        },
    }


def test_other_files_of_weights(tmp_path: Path, succeed: Tool) -> None:
    module = make()
    module.save_pretrained(tmp_path / "shards", max_shard_size="20KB")
    assert len(list((tmp_path / "shards").glob("*.safetensors"))) > 1
    exported, card = export(succeed, tmp_path / "shards.pt", tmp_path / "shards")
    check_same(exported, module)
    assert card["source"]["weights"]["path"] == "model.safetensors.index.json"
    folder = write_config(tmp_path / "pickle")
    torch.save(module.state_dict(), folder / "pytorch_model.bin")
    exported, card = export(succeed, tmp_path / "pickle.pt", folder)
    check_same(exported, module)
    assert card["source"]["weights"]["path"] == "pytorch_model.bin"


def test_config_alone_has_seeded_weights(tmp_path: Path, succeed: Tool) -> None:
    folder = write_config(tmp_path / "net")
    zero, card = export(succeed, tmp_path / "0.pt", folder)
    again, _ = export(succeed, tmp_path / "0b.pt", folder / "config.json", "--seed", 0)
    one, _ = export(succeed, tmp_path / "1.pt", folder, "--seed", 1)
    assert card["source"]["weights"] is None
    check_same(zero, make(seed=0))
    name = "bert.encoder.layer.1.output.dense.weight"
    assert torch.equal(zero.state_dict()[name], again.state_dict()[name])
    assert not torch.equal(zero.state_dict()[name], one.state_dict()[name])


@NEEDS_PROGRAM
def test_weights_of_a_file(tmp_path: Path, succeed: Tool) -> None:
    """They win over those of the folder, and can be swapped later, by the same names."""
    folder, module, other = tmp_path / "net", make(), make(seed=8)
    other.save_pretrained(folder)
    save_file(module.state_dict(), tmp_path / "w.safetensors")
    exported, card = export(succeed, tmp_path / "m.pt", folder, "--weights", tmp_path / "w.safetensors")
    check_same(exported, module)
    assert card["source"]["weights"]["path"] == "w.safetensors"
    exported.load_state_dict(other.state_dict(), strict=False)
    check_same(exported, other)


HEADS = [
    ("BertForSequenceClassification", {"num_labels": 3}, ["batch", 3], 3, THREE),
    ("BertForTokenClassification", {"num_labels": 4}, ["batch", "sequence", 4], None, THREE),
    ("BertForMaskedLM", {}, ["batch", "sequence", 60], None, THREE),
    ("RobertaForTokenClassification", {"pad_token_id": 1}, ["batch", "sequence", 2], None, THREE[:2]),
    ("LlamaForCausalLM", {}, ["batch", "sequence", 60], None, THREE[:2]),
    ("LlamaForCausalLM", {"num_key_value_heads": 1, "tie_word_embeddings": True}, ["batch", "sequence", 60], None,
     THREE[:2]),
    ("GPT2LMHeadModel", {}, ["batch", "sequence", 60], None, THREE[:2]),
]


@pytest.mark.parametrize(("class_name", "more", "shape", "num_classes", "names"), HEADS)
def test_other_heads(
    tmp_path: Path, succeed: Tool, class_name: str, more: dict, shape: list, num_classes: int | None, names: tuple
) -> None:
    sizes = {"type_vocab_size": 1, "max_position_embeddings": 72} if class_name.startswith("Roberta") else {}
    module = make(class_name, **sizes, **more)
    module.save_pretrained(tmp_path / "net")
    exported, card = export(succeed, tmp_path / "m.pt", tmp_path / "net")
    check_same(exported, module, names)
    assert card["outputs"] == [{"name": "logits", "kind": "logits", "dtype": "float32", "shape": shape}]
    assert [entry["name"] for entry in card["inputs"]] == list(names)
    assert card.get("num_classes") == num_classes and card["weights"] == "swappable"


def test_package(tmp_path: Path, succeed: Tool) -> None:
    """Of any batch and length, with weights that can be replaced."""
    module, output = make(), tmp_path / "m.pt2"
    module.save_pretrained(tmp_path / "net")
    succeed(NAME, "--model", f"hf:{tmp_path / 'net'}", "--format", "pt2", "--swappable", "--output", output)
    package = torch._inductor.aoti_load_package(str(output))
    check_same(package, module)
    with zipfile.ZipFile(output) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".wrapper_metadata.json"))
        card = json.loads(json.loads(archive.read(name))["tally"])
    assert [entry["shape"] for entry in card["inputs"]] == [["batch", "sequence"]] * 3
    assert [entry["name"] for entry in card["outputs"]] == ["start_logits", "end_logits"]
    assert (card["weights"], card["fixed_batch"], card["package"]["layout"]) == ("swappable", None, "contiguous")
    assert set(module.state_dict()) <= set(package.get_constant_fqns())


def test_precision(tmp_path: Path, succeed: Tool) -> None:
    exported, card = export(succeed, tmp_path / "m.pt", write_config(tmp_path / "net"), "--precision", "bf16")
    assert card["outputs"][0]["dtype"] == "bfloat16" and card["inputs"][0]["dtype"] == "int64"
    assert exported(*batch(3, 9))[1].dtype == torch.bfloat16


def test_class_of_choice_and_weights_left_over(tmp_path: Path, succeed: Tool, fail: Tool) -> None:
    make("BertForTokenClassification").save_pretrained(tmp_path / "net")
    words = ["--model", f"hf:{tmp_path / 'net'}", "--hf-class"]
    fail(NAME, *words, QUESTIONS, code=4, says="lack 2 tensors of BertForQuestionAnswering, first 'qa_outputs.bias'")
    make().save_pretrained(tmp_path / "net")
    state = make().state_dict() | {"more.weight": torch.zeros(1)}
    save_file(state, tmp_path / "net" / "model.safetensors", metadata={"format": "pt"})
    done = succeed(NAME, *words, QUESTIONS, "--output", tmp_path / "m.pt")
    assert done.stdout.startswith("note: weights '") and "have 1 tensors" in done.stdout
    assert "first 'more.weight'" in done.stdout
    folder = write_config(tmp_path / "nameless", None)
    fail(NAME, "--model", f"hf:{folder}", code=4, says="names no class under 'architectures'; give --hf-class")
    export(succeed, tmp_path / "n.pt", folder, "--hf-class", QUESTIONS)


def test_model_faults(tmp_path: Path, fail: Tool) -> None:
    def refuse(folder: Path, says: str) -> None:
        fail(NAME, "--model", f"hf:{folder}", code=4, says=says)

    refuse(tmp_path / "none", "none/config.json' does not exist; hf: takes a folder with a config.json")
    refuse(write_config(tmp_path / "a", "BertForNothing"), "has no model class 'BertForNothing'")
    refuse(write_config(tmp_path / "b", "BertConfig"), "has no model class 'BertConfig'")
    refuse(write_config(tmp_path / "c", "BertModel"), "BertModel returns last_hidden_state, pooler_output, expected")
    refuse(write_config(tmp_path / "d", model_type="no_such"), "d/config.json' describes no model")
    foreign = {"model_type": "own", "auto_map": {"AutoConfig": "own.Config", "AutoModel": "own.Model"}}
    refuse(write_config(tmp_path / "e", **foreign), "e/config.json' describes no model")
    (tmp_path / "e" / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Config: pass\n")
    refuse(tmp_path / "e", "e/config.json' describes no model")
    assert not (tmp_path / "ran").exists()
    (tmp_path / "d" / "config.json").write_text("{")
    refuse(tmp_path / "d", "d/config.json' describes no model")
    (tmp_path / "c" / "model.safetensors").write_bytes(b"x")
    refuse(tmp_path / "c", "c' cannot be loaded as BertModel")


def test_usage_faults(tmp_path: Path, fail: Tool) -> None:
    model = ["--model", f"hf:{write_config(tmp_path / 'net')}"]
    for option in (["--num-classes", 3], ["--input-shape", "3,8,8"], ["--outputs", "logits"], ["--script"],
                   ["--mean", 1]):  # fmt: skip
        fail(NAME, *model, *option, code=2, says=f"{option[0]} is not for models of transformers")
    fail(NAME, "--model", "resnet18", "--hf-class", QUESTIONS, code=2, says="--hf-class is for --model hf:FOLDER")


def test_as_a_program(tmp_path: Path) -> None:
    folder, output = write_config(tmp_path / "net"), tmp_path / "m.pt"
    command = [sys.executable, TOOLS / "export_model.py", "--model", f"hf:{folder}", "--output", output]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "") and len(done.stdout.splitlines()) == 1
    assert "traced, fp32 input_ids, attention_mask, token_type_ids to start_logits, end_logits" in done.stdout


class Odd(torch.nn.Module):
    """Its trace is right for the length, the number of rows, or the masks that it was made with."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        scores = input_ids.float()
        if self.kind == "length":
            return scores * int(input_ids.shape[1])
        if self.kind == "rows":
            return scores * int(input_ids.shape[0])
        if self.kind == "mask":
            return scores if bool(attention_mask.all()) else scores + 1
        return scores * input_ids.shape[1]


@pytest.mark.parametrize(("kind", "is_right"), [("length", False), ("rows", False), ("mask", False), ("none", True)])
def test_traces_are_tried_on_other_sizes(kind: str, is_right: bool) -> None:
    from tally_export.verify_export import reproduces
    from tally_export.sequences import SequenceForm

    form, module = SequenceForm(THREE[:2], num_tokens=9, pad=0, longest=None), Odd(kind)
    with warnings.catch_warnings(action="ignore"):
        traced = torch.jit.trace(module, form.example(torch.float32), check_trace=False)
    assert (reproduces(traced, module, form.checks(torch.float32)) is None) == is_right
