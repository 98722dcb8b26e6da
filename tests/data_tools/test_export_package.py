# SPDX-License-Identifier: Apache-2.0
"""export_model --format pt2: what a package says of itself, weights that can be swapped, and each foreseeable fault."""

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torch

from conftest import TOOLS, Tool

NAME = "export_model"
NETS = Path(__file__).with_name("own_nets.py")
PACKAGE = ("--format", "pt2")


def metadata(path: Path) -> dict:
    with zipfile.ZipFile(path) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".wrapper_metadata.json"))
        return json.loads(archive.read(name))


def library_digest(path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        return hashlib.sha256(archive.read(next(n for n in archive.namelist() if n.endswith(".so")))).hexdigest()


def sources(path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        return "".join(archive.read(name).decode() for name in archive.namelist() if name.endswith(".cpp"))


def test_as_a_program(tmp_path: Path) -> None:
    """Quiet, and nothing is left behind but the file."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    output = tmp_path / "m.pt2"
    command = [sys.executable, TOOLS / "export_model.py", "--model", f"{NETS}:make", *PACKAGE, "--output", output]
    environment = {name: value for name, value in os.environ.items() if name != "TORCHINDUCTOR_CACHE_DIR"}
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, env=environment | {"TMPDIR": str(temporary)}
    )
    assert (done.returncode, done.stderr) == (0, "") and len(done.stdout.splitlines()) == 1
    assert done.stdout.startswith("wrote ") and "compiled for cpu, fp32" in done.stdout
    assert list(temporary.iterdir()) == []
    code = sources(output)
    assert "#pragma omp parallel" in code and "omp parallel num_threads" not in code and "-march=native" not in code
    found = metadata(output)
    card = json.loads(found["tally"])
    assert found["AOTI_DEVICE_KEY"] == "cpu" and card["weights"] == "frozen" and card["fixed_batch"] is None
    assert card["inputs"][0]["shape"] == ["batch", 1, 8, 8] and card["training_mode"] == []
    facts = card["package"]
    assert (facts["precision"], facts["layout"]) == ("fp32", "contiguous")  # one channel
    assert facts["library_sha256"] == library_digest(output)
    assert os.uname().machine != "x86_64" or {"avx2", "fma"} <= set(facts["cpu_features"])


def test_swappable_in_bfloat16_for_one_batch_size(tmp_path: Path, succeed: Tool) -> None:
    options = ["--swappable", "--precision", "bf16", "--batch-size", 6, "--cpu-isa", "avx2"]
    succeed(NAME, "--model", f"{NETS}:make", *PACKAGE, "--output", tmp_path / "m.pt2", *options)
    card = json.loads(metadata(tmp_path / "m.pt2")["tally"])
    assert (card["weights"], card["fixed_batch"], card["package"]["precision"]) == ("swappable", 6, "bf16")
    assert card["inputs"][0]["dtype"] == card["outputs"][0]["dtype"] == "bfloat16"
    assert not any(feature.startswith("avx512") for feature in card["package"]["cpu_features"])
    assert "fixed_buffers" not in card


def test_weights_without_a_place_of_their_own(fail: Tool) -> None:
    """Tied to another, or used by nobody."""
    says = "5 weights have no place of their own in it, first 'bn.bias'"
    fail(NAME, "--model", f"{NETS}:tied", "--input-shape", "1,8,8", *PACKAGE, "--swappable", code=4, says=says)


def test_usage_faults(fail: Tool) -> None:
    model = ["--model", f"{NETS}:make"]
    for option in (["--swappable"], ["--batch-size", 8], ["--device", "cuda"], ["--cpu-isa", "avx2"],
                   ["--max-autotune"]):  # fmt: skip
        fail(NAME, *model, *option, code=2, says=f"{option[0]} is for --format pt2")
    fail(NAME, *model, *PACKAGE, "--script", code=2, says="--script is for --format torchscript")
    fail(NAME, *model, *PACKAGE, "--max-autotune", code=2, says="--max-autotune is for --device cuda")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_no_gpu(fail: Tool) -> None:
    fail(NAME, "--model", f"{NETS}:make", *PACKAGE, "--device", "cuda", code=5, says="there is no GPU here")


@pytest.mark.skipif(torch.backends.cpu.get_cpu_capability() == "AVX512", reason="the processor has AVX-512")
def test_instruction_set_that_is_not_there(fail: Tool) -> None:
    says = "cannot compile for avx512"
    fail(NAME, "--model", f"{NETS}:make", *PACKAGE, "--cpu-isa", "avx512", code=5, says=says)


def test_a_name_that_says_package_needs_the_format(tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, TOOLS / "export_model.py", "--model", f"{NETS}:plain", "--output", tmp_path / "x.pt2"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert made.returncode == 2
    assert "--format pt2" in made.stderr
    assert not list(tmp_path.iterdir())
