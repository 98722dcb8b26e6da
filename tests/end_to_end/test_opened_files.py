# SPDX-License-Identifier: Apache-2.0
"""Files that nobody means well with have nothing opened or run but what was given: strace sees each attempt."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import h5py
import pytest
import small
import torch
from conftest import Evaluate, Small
from hostile_pickles import COMMANDS, SLOT, splice_file
from hostile_shards import INDEX
from launch import Program, Run
from safetensors.torch import save_file

STRACE = shutil.which("strace")
works = STRACE and subprocess.run([STRACE, "-qq", "-o", os.devnull, "true"], capture_output=True).returncode == 0
pytestmark = pytest.mark.skipif(not works, reason="strace is not installed, or may not trace processes here")

# An attempt to open or run a file; the folder that a relative path begins at is shown beside the descriptor.
ATTEMPT = re.compile(r'\b(open|openat|openat2|creat|execve|execveat)\((?:\w+<([^>]*)>, )?"((?:[^"\\]|\\.)*)"')
# Process ids and the like, which differ from run to run.
NUMBER = re.compile(r"[0-9a-f]*[0-9][0-9a-f]*")


@dataclass(frozen=True)
class Traced:
    run: Run
    text: str
    paths: list[str]

    def beside(self, usual: set[str], given: Path) -> list[str]:
        """What was opened or run that is neither usual nor given."""
        return [path for path in self.paths if common(path) not in usual and not Path(path).is_relative_to(given)]


def common(path: str) -> str:
    return NUMBER.sub("#", path)


@dataclass(frozen=True)
class Trace:
    """Runs the program where only `given` is given. `elsewhere` holds what files may name and must not be looked at."""

    tally: Program
    folder: Path

    @property
    def given(self) -> Path:
        return self.folder / "given"

    @property
    def elsewhere(self) -> Path:
        return self.folder / "elsewhere"

    def __call__(self, *arguments: object, env: dict[str, str] | None = None) -> Traced:
        output = self.folder / "trace"
        command = [STRACE, "-f", "-qq", "-y", "--seccomp-bpf", "-e", "trace=%file", "-o", output]
        # Scratch files have names of their own.
        env = {"TMPDIR": str(self.given)} | (env or {})
        run = self.tally.run_command([*map(str, command), *self.tally.command(*arguments)], cwd=self.given, env=env)
        text = output.read_text(errors="replace")
        paths = [os.path.normpath(os.path.join(base or self.given, path)) for _, base, path in ATTEMPT.findall(text)]
        return Traced(run, text, paths)


@pytest.fixture(scope="module")
def good(small_case: Small, evaluate: Evaluate, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Harmless files of each kind. The data set has no checksums, which would be the first to show a change."""
    folder = tmp_path_factory.mktemp("good")
    small_case.samples.write(folder / "val.h5", checksums=False)
    shutil.copy(small_case.model, folder / "model.pt")
    state = small.TinyNet(seed=2).state_dict()
    torch.save({"state_dict": state, "extra": SLOT}, folder / "weights.pth")
    save_file(state, folder / "weights.safetensors")
    shutil.copytree(evaluate(folder / "model.pt", folder / "val.h5").folder, folder / "result")
    return folder


def prepared(tally: Program, folder: Path, good: Path) -> Trace:
    for name in ("given", "elsewhere"):
        shutil.copytree(good, folder / name)
    return Trace(tally, folder)


@pytest.fixture
def trace(tally: Program, good: Path, tmp_path: Path) -> Trace:
    return prepared(tally, tmp_path, good)


CHECK = ("check", "--model", "model.pt", "--data", "val.h5")
RUNS = {
    "data": [("inspect", "val.h5"), CHECK],
    "weights": [("inspect", "weights.pth"), (*CHECK, "--weights", "weights.pth")],
    "result": [("inspect", "result", "--worst", "3"), ("compare", "result", "result")],
}


@pytest.fixture(scope="module")
def usual(tally: Program, good: Path, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """What is opened and run for harmless files: libraries, the processors, what Open MPI keeps."""
    trace = prepared(tally, tmp_path_factory.mktemp("usual"), good)
    traced = [trace(*arguments) for runs in RUNS.values() for arguments in runs]
    for each in traced:
        each.run.must_succeed()
    return {common(path) for each in traced for path in each.paths if not Path(path).is_relative_to(trace.given)}


def must_stay_inside(traced: Traced, trace: Trace, usual: set[str]) -> None:
    assert traced.beside(usual, trace.given) == []
    assert "elsewhere" not in traced.text, [line for line in traced.text.splitlines() if "elsewhere" in line]


def test_what_is_opened_is_seen(trace: Trace, usual: set[str]) -> None:
    traced = trace("inspect", "val.h5")
    assert str(trace.given / "val.h5") in traced.paths
    other = trace("inspect", "../elsewhere/val.h5")
    assert set(other.beside(usual, trace.given)) == {str(trace.elsewhere / "val.h5")}
    with pytest.raises(AssertionError):
        must_stay_inside(other, trace, usual)


def _external_storage(file: h5py.File, elsewhere: Path) -> None:
    old = file["targets/label"]
    shape, dtype = old.shape, old.dtype
    (elsewhere / "raw").write_bytes(old[...].tobytes())
    del file["targets/label"]
    file.create_dataset("targets/label", shape, dtype, external=[(str(elsewhere / "raw"), 0, shape[0] * dtype.itemsize)])


def _external_link(file: h5py.File, elsewhere: Path) -> None:
    del file["targets/label"]
    file["targets/label"] = h5py.ExternalLink(str(elsewhere / "val.h5"), "/targets/label")


def _relative_link(file: h5py.File, elsewhere: Path) -> None:
    file["more"] = h5py.ExternalLink("../elsewhere/val.h5", "/targets")


def _link_to_a_link(file: h5py.File, elsewhere: Path) -> None:
    _external_link(file, elsewhere)
    file.move("targets/label", "targets/other")
    file["targets/label"] = h5py.SoftLink("/targets/other")


def _virtual(file: h5py.File, elsewhere: Path) -> None:
    old = file["targets/label"]
    layout = h5py.VirtualLayout(old.shape, old.dtype)
    layout[:] = h5py.VirtualSource(str(elsewhere / "val.h5"), "targets/label", old.shape)
    del file["targets/label"]
    file.create_virtual_dataset("targets/label", layout)


def _filter(file: h5py.File, elsewhere: Path) -> None:
    """That this number has: a library of the folder for plugins would be loaded for it."""
    values = file["targets/label"][...]
    del file["targets/label"]
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk(values.shape)
    properties.set_filter(32_015, h5py.h5z.FLAG_OPTIONAL)
    space = h5py.h5s.create_simple(values.shape)
    dataset = h5py.h5d.create(file["targets"].id, b"label", h5py.h5t.NATIVE_INT64, space, properties)
    dataset.write_direct_chunk((0,), values.tobytes())


BAD_HDF5 = [_external_storage, _external_link, _relative_link, _link_to_a_link, _virtual, _filter]


@pytest.mark.parametrize("change", BAD_HDF5)
def test_data_sets(change: Callable, trace: Trace, usual: set[str]) -> None:
    with h5py.File(trace.given / "val.h5", "r+") as file:
        change(file, trace.elsewhere)
    for arguments in RUNS["data"]:
        traced = trace(*arguments, env={"HDF5_PLUGIN_PATH": str(trace.elsewhere)})
        traced.run.must_fail(3, "val.h5", "which is refused" if change is not _filter else "32015")
        must_stay_inside(traced, trace, usual)


def test_shards_of_data_sets(trace: Trace, usual: set[str]) -> None:
    index = small.make_set(20).write_shards(trace.elsewhere / "val.shards.json", 2)
    listed = json.loads(index.read_text())
    for shard in listed["shards"]:
        shard["file"] = f"../elsewhere/{shard['file']}"
    (trace.given / "val.shards.json").write_text(json.dumps(listed))
    for arguments in (("inspect", "val.shards.json"), (*CHECK[:-1], "val.shards.json")):
        traced = trace(*arguments)
        traced.run.must_fail(3, "val.shards.json")
        must_stay_inside(traced, trace, usual)


@pytest.mark.parametrize("command", ["reduce_system", "set_state", "rebuilt_tensor"])
def test_pickles(command: str, trace: Trace, usual: set[str]) -> None:
    splice_file(trace.given / "weights.pth", COMMANDS[command](str(trace.elsewhere / "mark")))
    for arguments in RUNS["weights"]:
        must_stay_inside(trace(*arguments), trace, usual)


@pytest.mark.parametrize("name", ["../elsewhere/weights.safetensors", "{elsewhere}/weights.safetensors"])
def test_shards_of_weights(name: str, trace: Trace, usual: set[str]) -> None:
    names = small.TinyNet().state_dict()
    index = {"metadata": {}, "weight_map": dict.fromkeys(names, name.format(elsewhere=trace.elsewhere))}
    (trace.given / INDEX).write_text(json.dumps(index))
    for arguments in (("inspect", INDEX), (*CHECK, "--weights", INDEX)):
        traced = trace(*arguments)
        traced.run.must_fail(4, INDEX)
        must_stay_inside(traced, trace, usual)


@pytest.mark.parametrize("file", ["predictions.h5", "metrics.h5"])
def test_results(file: str, trace: Trace, usual: set[str]) -> None:
    with h5py.File(trace.given / "result" / file, "r+") as changed:
        name = next(name for name in changed if isinstance(changed[name], h5py.Dataset))
        del changed[name]
        changed[name] = h5py.ExternalLink(str(trace.elsewhere / "result" / file), name)
    for arguments in RUNS["result"]:
        traced = trace(*arguments)
        assert traced.run.code in (0, 3, 6)
        must_stay_inside(traced, trace, usual)


def test_settings_of_libraries(trace: Trace, usual: set[str]) -> None:
    """What would have OpenSSL and HDF5 load code."""
    settings = trace.elsewhere / "openssl.cnf"
    module = trace.elsewhere / "module.so"
    settings.write_text(f"openssl_conf = a\n[a]\nproviders = b\n[b]\nc = d\n[d]\nmodule = {module}\nactivate = 1\n")
    (trace.elsewhere / "libplugin.so").touch()
    env = {"OPENSSL_CONF": str(settings), "HDF5_PLUGIN_PATH": str(trace.elsewhere), "HDF5_PLUGIN_PRELOAD": "plugin"}
    for arguments in RUNS["data"]:
        traced = trace(*arguments, env=env)
        traced.run.must_succeed()
        must_stay_inside(traced, trace, usual)
