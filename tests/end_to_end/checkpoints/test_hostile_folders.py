# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of several files that nobody means well with: one line, exit 4, nothing run, no other file looked at."""

import shutil
from pathlib import Path

import hostile_deepspeed
import hostile_dcp
import hostile_shards
import pytest
import torch
from checkpoints import make_net
from hostile_dcp import BAD_DCP
from hostile_deepspeed import BAD_DEEPSPEED
from hostile_pickles import COMMANDS, SLOT, splice_file
from hostile_runs import HostileRuns
from hostile_shards import BAD_SHARDS, INDEX
from sharded_files import SHARDED
from weight_runs import ranked_checkpoints

pytest_plugins = "hostile_runs"

# The others are read by the same code.
SOME = ["reduce_system", "new_object_with_keywords", "set_state", "old_object", "rebuilt_tensor"]


def copied(good: Path, tmp_path: Path) -> Path:
    return shutil.copytree(good, tmp_path / "checkpoint")


@pytest.fixture
def dcp(cache_dir: Path, tmp_path: Path) -> Path:
    """A good one, written by two ranks."""
    return copied(ranked_checkpoints(cache_dir, "dcp", 2) / "flat", tmp_path)


@pytest.mark.parametrize("name", BAD_DCP)
def test_distributed_checkpoint(name: str, dcp: Path, hostile: HostileRuns) -> None:
    BAD_DCP[name](dcp)
    hostile.refuse(dcp, ranks=2 if name in ("size_huge", "path_up") else None)


def test_links_are_followed(dcp: Path, hostile: HostileRuns, tmp_path: Path) -> None:
    """Caches of downloaded models are full of them."""
    hostile_dcp.put_link(dcp)
    hostile.accept(dcp)
    folder = tmp_path / "shards"
    folder.mkdir()
    SHARDED["hub_folder"].write(folder, make_net())
    hostile_shards.put_link(folder)
    hostile.accept(folder)


@pytest.mark.parametrize("command", SOME)
@pytest.mark.parametrize("place", hostile_dcp.PLACES)
def test_command_in_metadata(place: str, command: str, dcp: Path, hostile: HostileRuns) -> None:
    hostile_dcp.put_command(dcp, place, command, hostile.mark)
    if hostile_dcp.PLACES[place][1]:
        hostile.read_or_refuse(dcp)
    else:
        hostile.refuse(dcp)


@pytest.mark.parametrize("command", SOME)
def test_command_is_the_metadata(command: str, dcp: Path, hostile: HostileRuns) -> None:
    hostile_dcp.put_command_for_metadata(dcp, command, hostile.mark)
    hostile.refuse(dcp)


@pytest.mark.parametrize("command", SOME)
def test_command_in_a_part(command: str, dcp: Path, hostile: HostileRuns) -> None:
    hostile_dcp.put_command_for_part(dcp, command, hostile.mark)
    hostile.refuse(dcp)


@pytest.mark.parametrize("given", ["index", "folder"])
@pytest.mark.parametrize("name", BAD_SHARDS)
def test_shards(name: str, given: str, hostile: HostileRuns, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    SHARDED["hub_folder"].write(folder, make_net())
    BAD_SHARDS[name](folder)
    hostile.refuse(
        folder / INDEX if given == "index" else folder, ranks=2 if name == "path_up" else None, named=folder.name
    )


@pytest.mark.parametrize("place", ["whole", "tensor", "beside"])
@pytest.mark.parametrize("command", SOME)
def test_command_in_a_shard(command: str, place: str, hostile: HostileRuns, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    SHARDED["hub_bin_folder"].write(folder, make_net())
    path = folder / "pytorch_model-00002-of-00004.bin"
    state = torch.load(path)
    name = "hook" if place == "beside" else next(iter(state))
    torch.save(SLOT if place == "whole" else state | {name: SLOT}, path)
    splice_file(path, COMMANDS[command](str(hostile.mark)))
    if place == "beside":
        hostile.read_or_refuse(folder)
    else:
        hostile.refuse(folder)


@pytest.fixture(params=["stage2_bf16", "stage3_bf16"])
def deepspeed(request: pytest.FixtureRequest, cache_dir: Path, tmp_path: Path) -> Path:
    """A good one, written by two ranks."""
    return copied(ranked_checkpoints(cache_dir, "deepspeed", 2) / request.param, tmp_path)


@pytest.mark.parametrize("name", BAD_DEEPSPEED)
def test_deepspeed(name: str, deepspeed: Path, hostile: HostileRuns) -> None:
    BAD_DEEPSPEED[name](deepspeed)
    hostile.refuse(deepspeed, ranks=2 if name == "shape_huge" else None)


@pytest.mark.parametrize("command", SOME)
@pytest.mark.parametrize("place", hostile_deepspeed.PLACES)
def test_command_in_deepspeed(place: str, command: str, deepspeed: Path, hostile: HostileRuns) -> None:
    hostile_deepspeed.put_command(deepspeed, place, command, hostile.mark)
    if hostile_deepspeed.PLACES[place][2]:
        hostile.read_or_refuse(deepspeed)
    else:
        hostile.refuse(deepspeed)
