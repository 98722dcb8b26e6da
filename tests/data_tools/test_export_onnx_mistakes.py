# SPDX-License-Identifier: Apache-2.0
"""What export_model refuses to write as ONNX, and how it says so."""

import sys
from pathlib import Path

import pytest
import torch
from tally_data.errors import EnvironmentFault, ModelError
from tally_export import onnx_file

from conftest import Tool

NAME = "export_model"
NETS = '''
import torch
class Counted(torch.nn.Module):
    """How often it loops is decided by the values, which no graph of ONNX's exporter can say."""
    def forward(self, x):
        for _ in range(int(x.sum())):
            x = x + 1
        return x
def counted(): return Counted()
def linear(): return torch.nn.Linear(4, 3)
'''


@pytest.fixture
def nets(tmp_path: Path) -> Path:
    (tmp_path / "nets.py").write_text(NETS)
    return tmp_path / "nets.py"


@pytest.mark.parametrize(("options", "says"), [
    (("--precision", "bf16"), "--format onnx is written in fp32: tally evaluate --precision bf16 computes in bf16"),
    (("--script",), "--script is for --format torchscript"),
    (("--max-autotune",), "--max-autotune is for --format pt2"),
])  # fmt: skip
def test_options_of_other_formats(options: tuple[str, ...], says: str, nets: Path, fail: Tool) -> None:
    words = ["--model", f"{nets}:linear", "--input-shape", 4, "--format", "onnx"]
    fail(NAME, *words, *options, code=2, says=says)


@pytest.mark.parametrize(("name", "options", "says"), [
    ("net.onnx", (), "is named like an ONNX file: add --format onnx, or name it .pt"),
    ("net.pt2", ("--format", "onnx"), "is named like a compiled package: add --format pt2"),
])  # fmt: skip
def test_names_of_other_formats(name: str, options: tuple[str, ...], says: str, nets: Path, tmp_path: Path, tool: Tool) -> None:
    output = tmp_path / name
    done = tool(NAME, "--model", f"{nets}:linear", "--input-shape", 4, "--output", output, *options)
    assert done.returncode == 2 and says in done.stderr
    assert not output.exists()


def test_a_network_that_has_no_graph(nets: Path, fail: Tool) -> None:
    pytest.importorskip("onnxscript", reason="set-up without --with-openvino")
    words = ["--model", f"{nets}:counted", "--input-shape", 4, "--format", "onnx"]
    refused = fail(NAME, *words, code=4, says="no ONNX file can be made (")
    assert "Failed to export" not in refused.stderr, "the cause is to be named"


def test_weights_that_no_file_holds(tmp_path: Path) -> None:
    pytest.importorskip("openvino", reason="set-up without --with-openvino")
    module = torch.nn.Linear(2**16, 2**13, bias=False, device="meta")  # which takes no memory
    with pytest.raises(ModelError, match="its weights have 2147483648 bytes, an ONNX file holds less than 2 GiB: use --format torch"):
        onnx_file.save_and_verify(module, None, {}, tmp_path / "net.onnx", None)


def test_a_package_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    pytest.importorskip("onnx", reason="set-up without --with-openvino")
    with pytest.raises(EnvironmentFault, match="needs the Python package 'onnxscript', which is not installed: run jobs/setup.sh"):
        onnx_file.check_packages()
