# SPDX-License-Identifier: Apache-2.0
"""Weights files that nobody means well with: one line, exit 4, nothing run, nothing written, no memory wasted."""

import io
import pickle
import warnings
from pathlib import Path

import pytest
import torch
from checkpoint_files import FILES
from checkpoints import make_net
from hostile_archives import BAD_ARCHIVES, HARMLESS_NAMES, cuts
from hostile_files import BAD_PICKLES, BAD_SAFETENSORS, BIAS, header_of, write_safetensors, write_state
from hostile_pickles import COMMANDS, NEVER_WRITTEN, SLOT, UNNAMED_CALLS, splice_file
from hostile_runs import HostileRuns

pytest_plugins = "hostile_runs"


@pytest.mark.parametrize("name", COMMANDS)
def test_python_would_run_it(name: str, tmp_path: Path) -> None:
    class Loader(pickle.Unpickler):
        def persistent_load(self, key: object) -> object:
            return key

    mark = tmp_path / "mark"
    try:
        Loader(io.BytesIO(COMMANDS[name](str(mark)) + b".")).load()
    except AttributeError:
        pass  # of what came after
    assert mark.exists()


OLD = pytest.mark.parametrize("new", [True, False], ids=["zip", "legacy"])


@OLD
@pytest.mark.parametrize("name", COMMANDS)
def test_command_is_the_whole_file(name: str, new: bool, hostile: HostileRuns, tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    torch.save(SLOT, path, _use_new_zipfile_serialization=new)
    splice_file(path, COMMANDS[name](str(tmp_path / "mark")))
    hostile.refuse(path, ranks=2 if name == "reduce_system" else None)


@OLD
@pytest.mark.parametrize("name", COMMANDS)
def test_command_in_place_of_a_tensor(name: str, new: bool, hostile: HostileRuns, tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    torch.save(make_net().state_dict() | {BIAS: SLOT}, path, _use_new_zipfile_serialization=new)
    splice_file(path, COMMANDS[name](str(tmp_path / "mark")))
    hostile.refuse(path, "pickle, byte" if name in NEVER_WRITTEN | UNNAMED_CALLS else BIAS)


@pytest.mark.parametrize("name", COMMANDS)
def test_command_beside_the_weights(name: str, hostile: HostileRuns, tmp_path: Path) -> None:
    """As a checkpoint's own classes, which are passed over by name."""
    path = tmp_path / "weights.pt"
    torch.save({"hook": SLOT, "model": make_net().state_dict(), "last": SLOT}, path)
    splice_file(path, COMMANDS[name](str(tmp_path / "mark")))
    if name in NEVER_WRITTEN | UNNAMED_CALLS:
        hostile.refuse(path, "pickle, byte")
    else:
        hostile.accept(path)


def test_what_is_written_by_hand_is_read(hostile: HostileRuns, tmp_path: Path) -> None:
    """The files below are refused for what is changed in them alone."""
    state = make_net().state_dict()
    path = tmp_path / "weights.pt"
    write_state(path, state, {})
    hostile.accept(path)
    write_safetensors(tmp_path / "weights.safetensors", *header_of(state))
    hostile.accept(tmp_path / "weights.safetensors")


@pytest.mark.parametrize("name", BAD_PICKLES)
def test_pickle(name: str, hostile: HostileRuns, tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    BAD_PICKLES[name](path, make_net().state_dict())
    hostile.refuse(path, ranks=2 if name == "storage_of_huge_size" else None)


def test_path_into_a_dict_that_holds_itself(hostile: HostileRuns, tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    BAD_PICKLES["dict_in_itself"](path, {})
    hostile.refuse(path, key=".".join(["model"] * 100))


@pytest.mark.parametrize("name", BAD_SAFETENSORS)
def test_safetensors(name: str, hostile: HostileRuns, tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    BAD_SAFETENSORS[name](path, make_net().state_dict())
    hostile.refuse(path, ranks=2 if name == "shape_huge" else None)


@pytest.mark.parametrize("name", BAD_ARCHIVES)
def test_archive(name: str, hostile: HostileRuns, tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    write_state(path, make_net().state_dict(), {})
    with warnings.catch_warnings(action="ignore"):  # of names that are there twice
        BAD_ARCHIVES[name](path)
    hostile.refuse(path)


@pytest.mark.parametrize("name", HARMLESS_NAMES)
def test_names_that_would_lead_out_of_an_archive(name: str, hostile: HostileRuns, tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    write_state(path, make_net().state_dict(), {})
    HARMLESS_NAMES[name](path)
    hostile.accept(path)
    assert not (tmp_path / "mark").exists() and not (tmp_path.parent / "mark").exists()


@pytest.mark.parametrize("cut", cuts(0))
@pytest.mark.parametrize("form", ["state_dict", "nested_in_model", "legacy_nested", "safetensors"])
def test_cut_short(form: str, cut: str, hostile: HostileRuns, tmp_path: Path) -> None:
    path = FILES[form].write(tmp_path, make_net())
    content = path.read_bytes()
    path.write_bytes(content[: cuts(len(content))[cut]])
    hostile.refuse(path)
