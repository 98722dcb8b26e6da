# SPDX-License-Identifier: Apache-2.0
"""Paths, the data folder, and a way to run the tools as users do."""

import importlib
import io
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import pytest
from dashboards import DASHBOARDS, Dashboard

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "data_tools"
SUPPORT = ROOT / "tests" / "support"
sys.path[:0] = [str(TOOLS), str(SUPPORT)]
importlib.import_module("amx").leave_out_broken_amx()
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch: other tests may want the cores meanwhile
os.environ["HF_HUB_OFFLINE"] = "1"  # as the exporter sets it: before the library of Hugging Face's hub

# Tools that are slow to load, or run very often; the others are run as users do.
IN_THIS_PROCESS = (
    "export_model", "prepare_choices", "prepare_coco", "prepare_dataset", "prepare_imagefolder",
    "prepare_multiple_choice", "prepare_predictions", "prepare_text", "prepare_text_classification",
    "prepare_token_classification", "publish",
)  # fmt: skip
Tool = Callable[..., subprocess.CompletedProcess[str]]
NEEDS_PROGRAM = pytest.mark.skipif(
    "TALLY_BIN" not in os.environ, reason="tally itself reads weights, and TALLY_BIN names no program"
)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The real data and weights; tests that need them are skipped where they are absent."""
    folder = Path(os.environ.get("TALLY_DATA_DIR") or ROOT / ".." / "shared" / "data-candidates")
    if not (folder / "mnist").is_dir():
        if "TALLY_REQUIRE_DATA" in os.environ:
            pytest.fail(f"no data: '{folder}' is absent, see TALLY_DATA_DIR")
        pytest.skip(f"no data: '{folder}' is absent, see TALLY_DATA_DIR")
    return folder


def _run(script: Path, *options: object, **more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(script), *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **more)


def _run_here(name: str, *options: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """As _run, but in this process."""
    errors = importlib.import_module("tally_data.errors")
    module = importlib.import_module(name)
    command = [name, *map(str, options)]
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", command),
        redirect_stdout(out),
        redirect_stderr(err),
        chdir(cwd or "."),
    ):
        with pytest.raises(SystemExit) as ended:
            errors.run_tool(name, module.main)
    return subprocess.CompletedProcess(command, ended.value.code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="session")
def tool() -> Tool:
    """tool("prepare_mnist", "--input", ...) -> the finished process."""

    def run(name: str, *options: object, **more: object) -> subprocess.CompletedProcess[str]:
        if name in IN_THIS_PROCESS:
            return _run_here(name, *options, **more)
        return _run(TOOLS / f"{name}.py", *options, **more)

    return run


@pytest.fixture(scope="session")
def succeed(tool: Tool) -> Tool:
    """Like `tool`, for runs that must succeed with one line on stdout at least."""

    def run(name: str, *options: object, **more: object) -> subprocess.CompletedProcess[str]:
        done = tool(name, *options, **more)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1].startswith("wrote ")
        return done

    return run


@pytest.fixture
def fail(tool: Tool, tmp_path: Path) -> Tool:
    """Like `tool` with --output, for runs that must fail: one line on stderr, nothing written."""

    def run(
        name: str, *options: object, code: int, says: str, **more: object
    ) -> subprocess.CompletedProcess[str]:
        folder = tmp_path / "out"
        folder.mkdir(exist_ok=True)
        done = tool(name, *options, "--output", folder / "x.h5", **more)
        lines = done.stderr.splitlines()
        assert done.returncode == code, done.stderr
        assert len(lines) == 1 and lines[0].startswith(f"{name}: error[{code}] "), done.stderr
        assert says in lines[0]
        assert list(folder.iterdir()) == []
        return done

    return run


@pytest.fixture(scope="session")
def convert() -> Callable[[str, Path, Path], None]:
    """convert("mnist_convnet", stem, output)"""
    module = importlib.import_module("convert_weights")

    def run(network: str, stem: Path, output: Path) -> None:
        command = ["convert_weights", "--network", network, "--input", str(stem), "--output", str(output)]
        with mock.patch.object(sys, "argv", command):
            module.main()

    return run


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Of three networks over one data set: what is published."""
    program = os.environ.get("TALLY_BIN")
    if not program:
        pytest.skip("results are made by the program that TALLY_BIN names, and it names none")
    return importlib.import_module("watch_folder").make_results(tmp_path_factory.mktemp("results"), Path(program))


@pytest.fixture
def watch(tmp_path: Path) -> object:
    return importlib.import_module("watch_folder").WatchFolder(tmp_path / "watched", tmp_path / "checkpoints")


@pytest.fixture(params=DASHBOARDS)
def dashboard(request: pytest.FixtureRequest, tmp_path: Path) -> Dashboard:
    return DASHBOARDS[request.param](tmp_path)


@pytest.fixture
def publish(tool: Tool, tmp_path: Path) -> Callable[..., str]:
    """publish(folder, dashboard, …): must succeed; returns what it printed."""

    def run(folder: Path, dashboard: Dashboard, *options: object) -> str:
        done = tool("publish", folder, *dashboard.options, *options, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
