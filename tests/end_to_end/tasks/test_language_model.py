# SPDX-License-Identifier: Apache-2.0
"""Documents from the text to perplexity: windows over the ranks, against PyTorch's own loop over each document."""

import math
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from character_model import Trained, documentation, train_character_model
from conftest import ROOT, Evaluate, Result
from launch import Program
from ragged import texts
from same_results import check_same
from token_models import Bigram, losses_of, save, save_bigram
from token_sets import load_tokenizer, save_tokenizer, write_documents

RANKS = (1, 2, 3, 5)
PREFIX = ("--prefix-token", "<s>")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return train_character_model(tmp_path_factory.mktemp("model") / "m.pt")


@pytest.fixture(scope="module")
def documents() -> dict[str, str]:
    """None, one and few tokens; one longer than many windows, with others on both sides."""
    text = documentation()
    pieces = {"none": "", "one": text[:1], "two": text[7:9], "short": text[20:50], "long": text[1000:4000], "empty": ""}
    return pieces | {f"page {i}": text[5000 + 100 * i :][: 7 * i + 3] for i in range(20)} | {"last": text[-700:]}


def check_documents(result: Result, losses: list[np.ndarray], documents: dict[str, str], relative: float) -> None:
    with h5py.File(result.folder / "predictions.h5") as file:
        assert texts(file["id"]) == list(documents) and list(file["index"][...]) == list(range(len(documents)))
        assert list(file["tokens"][...]) == [len(one) for one in losses]
        assert list(file["bytes"][...]) == [len(text.encode()) for text in documents.values()]
        assert (file["correct"][...] <= file["correct_top5"][...]).all()
        assert file["nll"][...] == pytest.approx([math.fsum(one) for one in losses], rel=relative)
        means = [math.fsum(one) / len(one) if len(one) else math.nan for one in losses]
        assert file["loss"][...] == pytest.approx(means, rel=relative, nan_ok=True)


def check_figures(result: Result, losses: list[np.ndarray], documents: dict[str, str], relative: float) -> None:
    scored = [text for text, loss in zip(documents.values(), losses, strict=True) if len(loss)]
    total = math.fsum(np.concatenate(losses))
    by_token = total / sum(map(len, losses))
    by_byte = total / sum(len(text.encode()) for text in scored)
    expected = {
        "loss": by_token,
        "perplexity": math.exp(by_token),
        "bits_per_byte": by_byte / math.log(2),
        "byte_perplexity": math.exp(by_byte),
        "word_perplexity": math.exp(total / sum(len(text.split()) for text in scored)),
    }
    for name, value in expected.items():
        assert result.value(name) == pytest.approx(value, rel=1e-9 + 20 * relative), name
    assert result.report["units"] == {"total": len(documents), "scored": len(scored)}
    assert result.report["samples"]["exactly_once"]


@pytest.mark.parametrize("stride", [32, 16, 1])
def test_documents_of_any_length(
    stride: int, trained: Trained, documents: dict[str, str], evaluate: Evaluate, tmp_path: Path
) -> None:
    kept = documents if stride > 1 else {name: text[:150] for name, text in documents.items()}
    data = trained.prepare(tmp_path, kept, "--max-length", 32, "--stride", stride, *PREFIX)
    losses = losses_of(trained.module, data)
    assert [len(one) for one in losses] == [len(text) for text in kept.values()]
    options = ["--batch-size", 5]
    results = [evaluate(trained.path, data, *options, ranks=ranks) for ranks in RANKS]
    check_same(results)
    check_documents(results[0], losses, kept, 1e-5)
    check_figures(results[0], losses, kept, 1e-5)


def test_sums_are_exact_in_any_order(
    trained: Trained, documents: dict[str, str], evaluate: Evaluate, tmp_path: Path
) -> None:
    data = trained.prepare(tmp_path, documents, "--max-length", 24, "--stride", 12, *PREFIX)
    num_tokens = len(trained.characters) + 2  # one more than the data set's
    module, model = save_bigram(tmp_path / "m.pt", num_tokens)
    losses = losses_of(module, data)
    whole, by_length = (
        [evaluate(model, data, "--batch-size", 4, "--bucket-batches", count, ranks=ranks) for ranks in RANKS]
        for count in (1, 3)
    )
    for results in (whole, by_length):
        check_same(results)
        check_documents(results[0], losses, documents, 1e-12)
        check_figures(results[0], losses, documents, 1e-12)
    assert by_length[0].report["metrics"] == whole[0].report["metrics"]
    assert by_length[0].digests == whole[0].digests
    assert by_length[0].report["digests"]["class"] != whole[0].report["digests"]["class"]


def test_accuracy(trained: Trained, documents: dict[str, str], evaluate: Evaluate, tmp_path: Path) -> None:
    data = trained.prepare(tmp_path, documents, "--max-length", 24, *PREFIX)
    module, model = save_bigram(tmp_path / "m.pt", len(trained.characters) + 1)
    result = evaluate(model, data, "--batch-size", 7, "--intervals", "bootstrap")
    with h5py.File(data) as file:
        ids, labels = (torch.from_numpy(file[name][...]).long() for name in ("inputs/input_ids", "targets/label"))
        units = file["targets/unit"][...]
    logits, scored = module(ids), labels != -100
    truth = logits.gather(2, labels.clamp(min=0)[:, :, None])
    tokens = torch.arange(logits.shape[2])
    ahead = ((logits > truth) | ((logits == truth) & (tokens < labels[:, :, None]))).sum(2)
    right = ((ahead == 0) & scored).sum(1).numpy()
    with h5py.File(result.folder / "predictions.h5") as file:
        assert list(file["correct"][...]) == [right[units == unit].sum() for unit in range(len(documents))]
    assert result.value("accuracy") == right.sum() / scored.sum().item()
    assert result.value("accuracy_top5") == ((ahead < 5) & scored).sum().item() / scored.sum().item()
    for metric in result.report["metrics"].values():
        assert metric["method"] == "bootstrap" and metric["low"] < metric["value"] < metric["high"]


def test_a_limit_may_cut_a_document(
    trained: Trained, documents: dict[str, str], evaluate: Evaluate, tmp_path: Path
) -> None:
    data = trained.prepare(tmp_path, documents, "--max-length", 32)
    module, model = save_bigram(tmp_path / "m.pt", len(trained.characters))
    losses = losses_of(module, data)
    assert [len(one) for one in losses] == [max(0, len(text) - 1) for text in documents.values()]
    check_figures(evaluate(model, data), losses, documents, 1e-12)
    names = list(documents)
    long = names.index("long")
    with h5py.File(data) as file:
        limit = int(np.flatnonzero(file["targets/unit"][...] == long)[3])
    results = [evaluate(model, data, "--limit", limit, "--batch-size", 2, ranks=ranks) for ranks in RANKS]
    check_same(results)
    seen = [*losses[:long], losses[long][: 3 * 32 - 1]]
    with h5py.File(results[0].folder / "predictions.h5") as file:
        assert texts(file["id"]) == names[: long + 1]
        assert list(file["tokens"][...]) == [len(one) for one in seen]
    assert results[0].value("loss") == pytest.approx(np.concatenate(seen).mean(), rel=1e-12)
    num_bytes = sum(len(documents[name].encode()) for name in names[:long] if len(documents[name]) > 1)
    by_byte = math.fsum(np.concatenate(losses[:long])) / num_bytes
    assert results[0].value("byte_perplexity") == pytest.approx(math.exp(by_byte), rel=1e-12)


def test_documents_that_are_not_finite(
    trained: Trained, documents: dict[str, str], evaluate: Evaluate, tally: Program, tmp_path: Path
) -> None:
    data = trained.prepare(tmp_path, documents, "--max-length", 32, *PREFIX)
    module = Bigram(len(trained.characters) + 1)
    rare = min(set(documents["long"][:-1]), key="".join(documents.values()).count)
    module.table.weight.data[trained.characters.index(rare)] = torch.nan  # what follows it
    model = save(module, tmp_path / "m.pt", len(trained.characters) + 1)
    tally("evaluate", "--model", model, "--data", data, "--output", tmp_path / "no", ranks=2).must_fail(7, "NaN or Inf")
    results = [evaluate(model, data, "--on-nan", "wrong", "--batch-size", 5, ranks=ranks) for ranks in RANKS]
    check_same(results)
    losses = losses_of(module, data)
    finite = [one for one in losses if np.isfinite(one).all()]
    assert 0 < len(finite) < len(losses)
    assert results[0].value("loss") == pytest.approx(np.concatenate(finite).mean(), rel=1e-12)
    with h5py.File(results[0].folder / "predictions.h5") as file:
        assert list(np.isfinite(file["nll"][...])) == [bool(np.isfinite(one).all()) for one in losses]


@torch.inference_mode()
def hugging_faces_loop(module: torch.nn.Module, ids: torch.Tensor, length: int, stride: int) -> tuple[float, int]:
    """Of its guide to the perplexity of fixed-length models: sum of -log(probability), and how many tokens."""
    total, count, before = 0.0, 0, 0
    for begin in range(0, len(ids), stride):
        end = min(begin + length, len(ids))
        targets = ids[begin:end].clone()
        targets[: -(end - before)] = -100
        logits = module(ids[None, begin:end]).logits[0].double()
        losses = torch.nn.functional.cross_entropy(logits[:-1], targets[1:], reduction="none", ignore_index=-100)
        total, count, before = total + losses.sum().item(), count + int((targets[1:] != -100).sum()), end
        if end == len(ids):
            break
    return total, count


def test_gpt2_by_hugging_faces_loop(evaluate: Evaluate, tmp_path: Path) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    tokenizer = load_tokenizer(save_tokenizer(tmp_path / "tokenizer.json"))
    text = documentation()
    documents = {"a": text[:900], "b": text[2000:2050], "c": text[9000:11000]}
    torch.manual_seed(0)
    sizes = {"vocab_size": 320, "n_positions": 48, "n_embd": 32, "n_layer": 2, "n_head": 2}
    module = GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0)).eval()
    module.save_pretrained(tmp_path / "net")
    tools, source = ROOT / "data_tools", write_documents(tmp_path / "documents.jsonl", documents)
    for words in (
        ["prepare_text.py", "--input", source, "--tokenizer", tmp_path / "tokenizer.json", "--max-length", 48,
         "--stride", 20, "--output", tmp_path / "d.h5"],
        ["export_model.py", "--model", f"hf:{tmp_path / 'net'}", "--output", tmp_path / "m.pt"],
    ):  # fmt: skip
        command = [sys.executable, tools / words[0], *words[1:]]
        subprocess.run(list(map(str, command)), check=True, capture_output=True)
    results = [evaluate(tmp_path / "m.pt", tmp_path / "d.h5", "--batch-size", 6, ranks=ranks) for ranks in (1, 3)]
    check_same(results)
    found = [
        hugging_faces_loop(module, torch.tensor(tokenizer.encode(text, add_special_tokens=False).ids), 48, 20)
        for text in documents.values()
    ]
    with h5py.File(results[0].folder / "predictions.h5") as file:
        assert list(file["tokens"][...]) == [count for _, count in found]
        assert file["nll"][...] == pytest.approx([total for total, _ in found], rel=1e-6)
    mean = sum(total for total, _ in found) / sum(count for _, count in found)
    assert results[0].value("perplexity") == pytest.approx(math.exp(mean), rel=1e-6)


class Narrow(torch.nn.Module):
    """Fewer tokens, or fewer places, than the data set has."""

    def __init__(self, places: int, num_tokens: int) -> None:
        super().__init__()
        self.places, self.num_tokens = places, num_tokens

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return input_ids[:, : self.places, None].float().expand(-1, -1, self.num_tokens)


def test_refusals(trained: Trained, documents: dict[str, str], tally: Program, tmp_path: Path) -> None:
    data = trained.prepare(tmp_path, documents, "--max-length", 32)
    num_tokens = len(trained.characters)

    def refuse(module: torch.nn.Module, code: int, *found: str, options: tuple = ()) -> None:
        model = save(module, tmp_path / "m.pt", module(torch.zeros(1, 1).long()).shape[2])
        words = ["--model", model, "--data", data, "--output", tmp_path / "no", *options]
        tally("evaluate", *words, ranks=2).must_fail(code, *found)

    refuse(Narrow(99, num_tokens - 1), 4, f"expected [rows, places, {num_tokens} or more]")
    refuse(Narrow(20, num_tokens), 4, "scores of 20 places, /targets/label has 32")
    whole = Bigram(num_tokens)
    refuse(whole, 2, "label smoothing", options=("--label-smoothing", 0.1))
    refuse(whole, 2, "saves sums over tokens", options=("--save", "labels,logits"))
    refuse(whole, 2, "metric 'f1' is not known", options=("--metrics", "f1"))
    refuse(whole, 4, "are not log-probabilities", options=("--outputs", "log-probabilities"))


def test_subgroups_are_of_documents(
    trained: Trained, documents: dict[str, str], evaluate: Evaluate, tmp_path: Path
) -> None:
    data = trained.prepare(tmp_path, documents, "--max-length", 24, *PREFIX)
    module, model = save_bigram(tmp_path / "m.pt", len(trained.characters) + 1)
    with h5py.File(data, "r+") as file:
        units = file["targets/unit"][...]
        file["groups/kind"] = (units % 3).astype(np.int32)
    results = [evaluate(model, data, "--batch-size", 4, ranks=ranks) for ranks in (1, 3, 5)]
    check_same(results)
    losses = losses_of(module, data)
    found = results[0].report["groups"]["kind"]["values"]
    assert [group["value"] for group in found] == [0, 1, 2]
    for group in found:
        of_group = losses[group["value"] :: 3]
        assert group["scored"] == sum(len(one) > 0 for one in of_group)
        assert group["metrics"]["loss"]["value"] == pytest.approx(np.concatenate(of_group).mean(), rel=1e-12)


def test_more_ranks_than_batches(trained: Trained, evaluate: Evaluate, tmp_path: Path) -> None:
    documents = {"a": documentation()[:40], "b": documentation()[50:200]}
    data = trained.prepare(tmp_path, documents, "--max-length", 24, *PREFIX)
    module, model = save_bigram(tmp_path / "m.pt", len(trained.characters) + 1)
    results = [evaluate(model, data, "--batch-size", size, ranks=5) for size in (1, 3, 64)]
    for result in results:
        check_documents(result, losses_of(module, data), documents, 1e-12)
        assert result.digests == results[0].digests
