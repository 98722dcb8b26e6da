# SPDX-License-Identifier: Apache-2.0
"""A model or weights of which a bit has changed are refused, or give the figures that they gave."""

import hashlib
import json
import random
from pathlib import Path

import pytest
import small
import torch
from conftest import Evaluate, Small
from launch import Program
from safetensors.torch import save_file
from small import TinyNet


def flipped(path: Path, at: int, bit: int = 3) -> Path:
    content = bytearray(path.read_bytes())
    content[at] ^= 1 << bit
    changed = path.with_name(f"changed-{path.name}")
    changed.write_bytes(content)
    return changed


def place_of(path: Path, tensor: torch.Tensor) -> int:
    """Of the tensor's bytes in the file."""
    at = path.read_bytes().find(tensor.contiguous().numpy().tobytes())
    assert at >= 0
    return at


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    torch.save(TinyNet(seed=8).state_dict(), tmp_path / "w.pth")
    return tmp_path / "w.pth"


@pytest.mark.parametrize("ranks", [None, 3])
def test_weights(ranks: int | None, weights: Path, small_case: Small, tally: Program, tmp_path: Path) -> None:
    changed = flipped(weights, place_of(weights, TinyNet(seed=8).linear.weight.detach()) + 3)
    words = ["--model", small_case.model, "--data", small_case.data, "--output", tmp_path / "run"]
    run = tally("evaluate", *words, "--weights", changed, ranks=ranks)
    run.must_fail(4, changed.name, "tensor 'linear.weight': the CRC-32 of its bytes is ", "Copy or download")
    assert not (tmp_path / "run").exists()


def test_model(small_case: Small, tally: Program, tmp_path: Path) -> None:
    model = small.save_model(small.TinyNet(), tmp_path / "m.pt", json.dumps(small.card()))
    changed = flipped(model, place_of(model, small.TinyNet().linear.weight.detach()) + 3)
    run = tally("check", "--model", changed, "--data", small_case.data)
    run.must_fail(4, changed.name, "the CRC-32 of entry 'data/")
    tally("inspect", changed).must_fail(4, changed.name, "is damaged")


@pytest.mark.parametrize("kind", ["model", "weights"])
def test_few_bits_of_many(kind: str, weights: Path, small_case: Small, evaluate: Evaluate, tally: Program,
                          tmp_path: Path) -> None:  # fmt: skip
    """The tests of the rooms change many more."""
    model = small.save_model(small.TinyNet(), tmp_path / "m.pt", json.dumps(small.card()))
    file = {"model": model, "weights": weights}[kind]
    expected = evaluate(model, small_case.data, "--weights", weights).digests
    rng = random.Random(24)
    for i in range(8):
        paths = {"model": model, "weights": weights}
        paths[kind] = flipped(file, rng.randrange(file.stat().st_size), rng.randrange(8))
        words = ["--model", paths["model"], "--data", small_case.data, "--weights", paths["weights"]]
        run = tally("evaluate", *words, "--output", tmp_path / f"run{i}", "--progress", "off")
        if run.code != 0:
            run.must_fail(4)
            continue
        digests = small.report(tmp_path / f"run{i}")["digests"]
        assert (digests["state"], digests["predictions"]) == expected


def test_digests_that_are_asked_for(weights: Path, small_case: Small, tally: Program) -> None:
    words = ["check", "--model", small_case.model, "--data", small_case.data, "--weights", weights]
    own = ["--model-sha256", sha256(small_case.model), "--weights-sha256", sha256(weights).upper()]
    tally(*words, *own).must_succeed()
    other = "0" * 64
    tally(*words, "--model-sha256", other).must_fail(
        4, f"model '{small_case.model}' has the SHA-256 {sha256(small_case.model)}, --model-sha256 is {other}"
    )
    tally(*words, "--weights-sha256", other, ranks=2).must_fail(
        4, f"weights '{weights}' has the SHA-256 {sha256(weights)}, --weights-sha256 is {other}"
    )
    tally(*words[:-2], "--weights-sha256", other).must_fail(2, "--weights-sha256 is given without --weights")
    tally(*words, "--weights-sha256", "abc").must_fail(2, "--weights-sha256", "64 hexadecimal digits")


def test_digest_of_several_files(small_case: Small, evaluate: Evaluate, tally: Program, tmp_path: Path) -> None:
    state = {name: tensor.contiguous() for name, tensor in TinyNet(seed=8).state_dict().items()}
    names = sorted(state)
    shards = {"a.safetensors": names[:3], "b.safetensors": names[3:]}
    for shard, own in shards.items():
        save_file({name: state[name] for name in own}, tmp_path / shard)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {name: shard for shard, own in shards.items() for name in own}}))
    result = evaluate(small_case.model, small_case.data, "--weights", index)
    digest = result.report["inputs"]["weights"]["tensors_sha256"]
    evaluate(small_case.model, small_case.data, "--weights", index, "--weights-sha256", digest)
    changed = flipped(tmp_path / "a.safetensors", (tmp_path / "a.safetensors").stat().st_size - 2)
    changed.rename(tmp_path / "a.safetensors")
    words = ["check", "--model", small_case.model, "--data", small_case.data, "--weights", index]
    tally(*words, "--weights-sha256", digest).must_fail(4, "has the SHA-256", f"--weights-sha256 is {digest}")


def test_other_weights_of_the_same_name(
    weights: Path, small_case: Small, tally: Program, evaluate: Evaluate, tmp_path: Path
) -> None:
    def check(name: str, digest: str | None) -> str:
        source = {"model": "tests", "weights": {"path": name, "sha256": digest}}
        model = small.save_model(small.TinyNet(), tmp_path / "m.pt", json.dumps(small.card(source=source)))
        words = ["check", "--model", model, "--data", small_case.data, "--weights", weights]
        return tally(*words).must_succeed().stderr

    says = f"are not those of this name that the model was exported with: their SHA-256 is {sha256(weights)}"
    assert check("w.pth", "0" * 64).count(says) == 1
    result = evaluate(tmp_path / "m.pt", small_case.data, "--weights", weights)
    assert sum(says in note for note in result.report["notes"]) == 1
    for name, digest in (("w.pth", sha256(weights)), ("other.pth", "0" * 64), ("w.pth", None)):
        assert says not in check(name, digest)


def test_safetensors_with_bytes_of_no_tensor(small_case: Small, tally: Program, tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    save_file({name: tensor.contiguous() for name, tensor in TinyNet(seed=8).state_dict().items()}, path)
    path.write_bytes(path.read_bytes() + b"\0\0")
    words = ["check", "--model", small_case.model, "--data", small_case.data, "--weights", path]
    tally(*words).must_fail(4, "its last 2 bytes are of no tensor")


def test_any_one_bit_of_safetensors(weights: Path, small_case: Small, tally: Program, tmp_path: Path) -> None:
    """It holds no checksum of its own; the digest that is asked for is of all of it."""
    path = tmp_path / "w.safetensors"
    save_file({name: tensor.contiguous() for name, tensor in TinyNet(seed=8).state_dict().items()}, path)
    digest = sha256(path)
    words = ["check", "--model", small_case.model, "--data", small_case.data, "--weights-sha256", digest]
    rng = random.Random(24)
    for _ in range(6):
        changed = flipped(path, rng.randrange(path.stat().st_size), rng.randrange(8))
        tally(*words, "--weights", changed).must_fail(4, changed.name)
    tally(*words, "--weights", path).must_succeed()


def test_files_whose_writer_left_the_checksums_out(small_case: Small, evaluate: Evaluate, weights: Path,
                                                   tmp_path: Path) -> None:  # fmt: skip
    torch.serialization.set_crc32_options(False)
    try:
        torch.save(TinyNet(seed=8).state_dict(), tmp_path / "plain.pth")
    finally:
        torch.serialization.set_crc32_options(True)
    paths = (weights, tmp_path / "plain.pth")
    with_sums, without = (evaluate(small_case.model, small_case.data, "--weights", path) for path in paths)
    assert with_sums.digests == without.digests
