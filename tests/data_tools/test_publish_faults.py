# SPDX-License-Identifier: Apache-2.0
"""publish.py is killed, or its target fails: nothing is lost, nothing comes twice, and the run stays one."""

import errno
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest
from dashboards import Dashboard, MLflowFolder, TensorBoardFiles, WandbFiles
from tally_data.errors import OutputError
from tally_publish.targets import TARGETS
from watch_folder import WatchFolder, check_figures

from conftest import TOOLS, Tool

Publish = Callable[..., str]

# In a process of its own: publish.py, which is killed where `when` says.
KILLED = f"""
import os, signal, sys, time, types
sys.path.insert(0, {str(TOOLS)!r})
import publish
from tally_data.errors import run_tool
from tally_publish.targets import TARGETS

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def in_the_first_sleep():
    publish.time = types.SimpleNamespace(sleep=die, monotonic=time.monotonic)

def before_item(number):
    def counted(function):
        def count(*arguments):
            nonlocal number
            if number == 0:
                die()
            number -= 1
            function(*arguments)
        return count
    for kind in TARGETS.values():
        for name in ("scalars", "picture", "text", "settings"):
            setattr(kind, name, counted(getattr(kind, name)))
"""


def publish_and_die(folder: Path, dashboard: Dashboard, when: str, *options: object) -> str:
    code = f"{KILLED}\n{when}\nrun_tool('publish', publish.main)"
    words = [sys.executable, "-c", code, folder, *dashboard.options, *options]
    ended = subprocess.run(map(str, words), capture_output=True, text=True, check=False, cwd=dashboard.folder.parent)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    return ended.stdout


def test_what_was_published_outlives_a_kill(
    publish: Publish, dashboard: Dashboard, watch: WatchFolder, results: list[Path]
) -> None:
    watch.add(results[0], 1)
    said = publish_and_die(watch.folder, dashboard, "in_the_first_sleep()", "--follow")
    assert said.startswith("published ") and said.endswith(": 1 checkpoint\n")
    watch.add(results[1], 2)
    assert ": 1 checkpoint\n" in publish(watch.folder, dashboard)
    check_figures(dashboard, {1: results[0], 2: results[1]})
    assert dashboard.pictures("confusion") == [1, 2]
    assert len(dashboard.runs()) == 1


def test_a_kill_amid_the_items(
    publish: Publish, dashboard: Dashboard, watch: WatchFolder, results: list[Path]
) -> None:
    """At first before anything was sent, then between the pictures and the figures of a checkpoint."""
    watch.add(results[0], 1)
    watch.add_broken(2, "epoch_0002.pt")
    watch.add(results[1], 3)
    for sent in (0, 5):  # the configuration, what ran twice, two pictures
        assert publish_and_die(watch.folder, dashboard, f"before_item({sent})") == ""
    assert ": 2 checkpoints" in publish(watch.folder, dashboard)
    check_figures(dashboard, {1: results[0], 3: results[1]})
    assert dashboard.pictures("confusion") == dashboard.pictures("reliability") == [1, 3]
    assert dashboard.texts("broken") == [(2, "epoch_0002.pt: not a file of torch.save")]
    assert len(dashboard.scalars("running/accuracy")) == 4
    assert len(dashboard.runs()) == 1


@pytest.mark.parametrize("failing", ["new_run", "open", "settings"])
def test_a_first_call_that_fails(
    tool: Tool, publish: Publish, dashboard: Dashboard, watch: WatchFolder, results: list[Path], failing: str
) -> None:
    watch.add(results[0], 1)
    kind = TARGETS[dashboard.options[1]]
    full = OSError(errno.ENOSPC, "No space left on device")
    with mock.patch.object(kind, failing, side_effect=full):
        done = tool("publish", watch.folder, *dashboard.options, cwd=dashboard.folder.parent)
    assert done.returncode == 6
    assert done.stderr.endswith("No space left on device; the same command later goes on from here\n")
    publish(watch.folder, dashboard)
    check_figures(dashboard, {1: results[0]})
    assert len(dashboard.runs()) == 1


def test_what_wandb_has_not_kept_comes_again(
    tool: Tool, watch: WatchFolder, results: list[Path], tmp_path: Path
) -> None:
    watch.add(results[0], 1)
    options = WandbFiles(tmp_path).options
    with mock.patch("wandb.Run.finish", side_effect=ConnectionError("reset")):
        done = tool("publish", watch.folder, *options, cwd=tmp_path)
    assert done.returncode == 6 and done.stdout == ""

    watch.end()
    kind = TARGETS["wandb"]
    close, faults = kind.close, [ConnectionError("reset")]

    def fail_at_first(target: object) -> None:
        close(target)
        if faults:
            raise faults.pop()

    with mock.patch.object(kind, "close", fail_at_first), mock.patch.object(time, "sleep"):
        done = tool("publish", watch.folder, *options, "--follow", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(": 1 checkpoint\n")


def test_no_run_without_a_place_for_its_id(
    tool: Tool, publish: Publish, dashboard: Dashboard, watch: WatchFolder, results: list[Path]
) -> None:
    watch.add(results[0], 1)
    with mock.patch("publish.save_position", side_effect=OutputError("'publish.json' cannot be written: full")):
        done = tool("publish", watch.folder, *dashboard.options, cwd=dashboard.folder.parent)
    assert done.returncode == 6
    publish(watch.folder, dashboard)
    check_figures(dashboard, {1: results[0]})
    assert len(dashboard.runs()) == 1


def test_following_outlives_a_fault(tool: Tool, watch: WatchFolder, results: list[Path], tmp_path: Path) -> None:
    """Of one of two targets, in three looks; the other goes on meanwhile."""
    watch.add(results[0], 1)
    watch.end()
    board, server = TensorBoardFiles(tmp_path), MLflowFolder(tmp_path)
    words = ["--to", "tensorboard,mlflow", *board.options[2:], *server.options[2:], "--follow"]
    kind = TARGETS["tensorboard"]
    scalars, faults = kind.scalars, [ConnectionError("reset"), TimeoutError("no answer"), ConnectionError("reset")]

    def fail_at_first(*arguments: object) -> None:
        if faults:
            raise faults.pop()
        scalars(*arguments)

    with mock.patch.object(kind, "scalars", fail_at_first), mock.patch.object(time, "sleep") as sleeps:
        done = tool("publish", watch.folder, *words)
    assert done.returncode == 0 and sleeps.call_count == 3
    assert done.stderr == (
        f"publish: warning: cannot publish '{watch.folder}' to tensorboard ({board.folder / watch.folder.name}): "
        "reset; trying again at each look\n"
    )
    assert len(list((board.folder / watch.folder.name).iterdir())) == 4  # each time with a new writer
    for dashboard in (board, server):
        check_figures(dashboard, {1: results[0]})
        assert dashboard.pictures("confusion") == [1]


def test_a_fault_that_stays(tool: Tool, watch: WatchFolder, results: list[Path], tmp_path: Path) -> None:
    watch.add(results[0], 1)
    words = [watch.folder, *TensorBoardFiles(tmp_path).options, "--follow", "--idle-limit", 30]
    with (
        mock.patch.object(TARGETS["tensorboard"], "scalars", side_effect=ConnectionError("reset")),
        mock.patch.object(time, "sleep") as sleeps,
        mock.patch.object(time, "monotonic", side_effect=range(0, 1000, 10)),
    ):
        done = tool("publish", *words)
    assert done.returncode == 6 and sleeps.call_count == 2
    warning, error = done.stderr.splitlines()
    assert warning.startswith("publish: warning: ") and error.startswith("publish: error[6] ")
    assert error.endswith("reset; the same command later goes on from here")
