# SPDX-License-Identifier: Apache-2.0
"""publish.py: what it writes is read back by each dashboard's own reader; nothing comes twice."""

import importlib.util
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import h5py
import numpy as np
import pytest
from dashboards import Dashboard, TensorBoardFiles
from watch_folder import WatchFolder, check_figures, report_of

from conftest import Tool

def test_checkpoints_come_once(
    publish: Callable[..., str], dashboard: Dashboard, watch: WatchFolder, results: list[Path]
) -> None:
    watch.add(results[0], 1)
    watch.add_broken(2, "epoch_0002.pt")
    watch.add(results[1], 3)
    assert ": 2 checkpoints" in publish(watch.folder, dashboard)
    check_figures(dashboard, {1: results[0], 3: results[1]})
    assert dashboard.pictures("confusion") == dashboard.pictures("reliability") == [1, 3]
    assert dashboard.texts("broken") == [(2, "epoch_0002.pt: not a file of torch.save")]
    assert dashboard.settings() == {"metrics": "standard", "batch_size": "64"}
    before = dashboard.everything()

    assert publish(watch.folder, dashboard) == f"nothing new in '{watch.folder}'\n"
    assert dashboard.everything() == before

    watch.add(results[2], None)  # its place in the leaderboard stands for its step
    watch.stop(3)
    assert ": 1 checkpoint\n" in publish(watch.folder, dashboard)
    check_figures(dashboard, {1: results[0], 3: results[1], 4: results[2]})
    assert dashboard.pictures("confusion") == [1, 3, 4]
    assert dashboard.texts("broken") == [(2, "epoch_0002.pt: not a file of torch.save")]
    assert dashboard.texts("stop") == [(3, "no gain; best epoch_0003.pt: accuracy 0.5")]
    assert len(dashboard.runs()) == 1
    assert "nothing new" in publish(watch.folder, dashboard)


def progress_of(result: Path) -> list[dict]:
    events = map(json.loads, (result / "events.jsonl").read_text().splitlines())
    return [event for event in events if event["event"] == "progress"]


def test_running_figures_follow_one_another(
    publish: Callable[..., str], dashboard: Dashboard, watch: WatchFolder, results: list[Path]
) -> None:
    watch.add(results[0], 1)
    publish(watch.folder, dashboard)
    watch.add(results[1], 2)
    publish(watch.folder, dashboard)
    both = [(0, event) for event in progress_of(results[0])] + [(360, event) for event in progress_of(results[1])]
    assert len(both) == 4
    for name, value in (
        ("accuracy", lambda event: event["running_metrics"]["accuracy"]),
        ("samples_per_s", lambda event: event["samples_per_s"]),
    ):
        wanted = [(first + event["samples_done"], pytest.approx(value(event), rel=1e-6)) for first, event in both]
        assert dashboard.scalars(f"running/{name}") == wanted


def test_an_evaluation_begun_again(
    publish: Callable[..., str], dashboard: Dashboard, watch: WatchFolder, results: list[Path]
) -> None:
    """The watch was interrupted in it: the file of events is another one."""
    events = watch.folder / "results" / "epoch_0001.pt" / "events.jsonl"
    events.parent.mkdir()
    lines = (results[0] / "events.jsonl").read_text().splitlines(keepends=True)
    events.write_text("".join(lines[:2]) + lines[2][:30])  # a line that is being written
    publish(watch.folder, dashboard)
    assert [step for step, _ in dashboard.scalars("running/loss")] == [64]
    events.write_text("".join(lines).replace("2026-", "2027-"))
    publish(watch.folder, dashboard)
    assert [step for step, _ in dashboard.scalars("running/loss")] == [64, 64 + 64, 64 + 360]


def test_a_result(publish: Callable[..., str], dashboard: Dashboard, results: list[Path], tmp_path: Path) -> None:
    result = tmp_path / "result"
    result.mkdir()
    for name in ("events.jsonl", "metrics.h5", "report.json"):  # as the evaluation writes them
        (result / name).write_bytes((results[0] / name).read_bytes())
        publish(result, dashboard)
    check_figures(dashboard, {0: results[0]})
    assert len(dashboard.scalars("running/accuracy")) == 2
    assert dashboard.pictures("confusion") == dashboard.pictures("reliability") == [0]
    assert dashboard.settings() == report_of(result)["config"]


def test_a_result_without_pictures(publish: Callable[..., str], results: list[Path], tmp_path: Path) -> None:
    result, tensorboard = tmp_path / "result", TensorBoardFiles(tmp_path)
    shutil.copytree(results[0], result)
    with h5py.File(result / "metrics.h5", "a") as file:
        del file["reliability"]
        del file["confusion"]
        file["confusion"] = np.ones((10, 2, 2), np.int64)  # of several labels: a matrix for each
    publish(result, tensorboard)
    check_figures(tensorboard, {0: results[0]})
    with pytest.raises(KeyError):
        tensorboard.pictures("confusion")


def test_why_to_stop_comes_once(publish: Callable[..., str], dashboard: Dashboard, watch: WatchFolder) -> None:
    """A watch that begins again writes stop.json anew."""
    watch.stop(3)
    publish(watch.folder, dashboard)
    watch.stop(3, "2026-11-24T02:00:00Z")
    assert "nothing new" in publish(watch.folder, dashboard)
    watch.stop(4, "2026-11-25T02:00:00Z")
    publish(watch.folder, dashboard)
    assert [step for step, _ in dashboard.texts("stop")] == [3, 4]


def test_a_growing_leaderboard_is_followed(
    tool: Tool, watch: WatchFolder, results: list[Path], tmp_path: Path
) -> None:
    tensorboard = TensorBoardFiles(tmp_path)
    steps = iter([
        lambda: watch.add(results[0], 1),
        lambda: watch.append(watch.line("broken", 2, "b.pt", reason="cut")[:-20]),
        lambda: watch.append(watch.line("broken", 2, "b.pt", reason="cut")[-20:]),
        lambda: (watch.checkpoints / "done").touch(),  # the last is evaluated yet, for long
        *[lambda: None] * 9,
        lambda: (watch.add(results[1], 3), watch.end()),
    ])  # fmt: skip
    slept = []

    def pass_time(seconds: float) -> None:
        slept.append(seconds)
        next(steps, lambda: None)()

    with mock.patch.object(time, "sleep", pass_time):
        done = tool("publish", watch.folder, *tensorboard.options, "--follow", "--poll", 7)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("published") == 4  # the configuration, and three lines
    check_figures(tensorboard, {1: results[0], 3: results[1]})
    assert tensorboard.texts("broken") == [(2, "b.pt: cut")]
    assert set(slept) == {7} and len(slept) == 14


def test_following_ends(tool: Tool, watch: WatchFolder, results: list[Path], tmp_path: Path) -> None:
    words = [watch.folder, results[0], *TensorBoardFiles(tmp_path).options, "--follow"]
    with (
        mock.patch.object(time, "sleep") as sleeps,
        mock.patch.object(time, "monotonic", side_effect=range(0, 1000, 10)),
    ):
        assert tool("publish", *words, "--idle-limit", 30).returncode == 0  # of the watch nothing comes
        assert sleeps.call_count == 2
        watch.stop(1)
        watch.end()
        assert tool("publish", *words).returncode == 0
        assert sleeps.call_count == 2
    (results[0] / "publish.json").unlink()


def fail(tool: Tool, *options: object, code: int, says: str) -> None:
    done = tool("publish", *options)
    lines = done.stderr.splitlines()
    assert done.returncode == code, done.stderr
    assert len(lines) == 1 and lines[0].startswith(f"publish: error[{code}] ") and says in lines[0], done.stderr


def test_faults(tool: Tool, watch: WatchFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    folder, board = watch.folder, ["--to", "tensorboard", "--tensorboard-dir", tmp_path / "runs"]
    fail(tool, folder, "--to", "tensorbord", code=2, says="did you mean 'tensorboard'?")
    fail(tool, folder, "--to", "w&b", code=2, says="expected some of tensorboard,wandb,mlflow")
    fail(tool, folder, "--too", "wandb", code=2, says="did you mean '--to'?")
    fail(tool, folder, *board, "--wandb-mode", "offline", code=2, says="--wandb-mode is for --to wandb")
    fail(tool, folder, *board, "--poll", 3, code=2, says="--poll is for --follow")
    fail(tool, folder, folder / "." / ".." / folder.name, *board, code=2, says="would both be the run 'watched'")
    two = [folder, tmp_path, *board, "--name", "one"]
    fail(tool, *two, code=2, says="would both be the run 'one'")
    fail(tool, folder, "--to", "mlflow", code=2, says="--mlflow-uri")
    fail(tool, tmp_path / "absent", *board, code=3, says="--follow waits for it")
    fail(tool, watch.folder / "watch.json", *board, code=3, says="is no folder")
    (tmp_path / "runs").touch()
    fail(tool, folder, *board, code=6, says="the same command later goes on")
    watch.append("{]\n")
    fail(tool, folder, "--to", "tensorboard", "--tensorboard-dir", tmp_path / "r", code=3, says="line 1 is not JSON")
    real = importlib.util.find_spec
    with mock.patch("tally_publish.targets.find_spec", lambda name: None if name == "mlflow" else real(name)):
        fail(tool, folder, "--to", "mlflow", code=5, says="pip install mlflow-skinny")


def test_another_leaderboard_is_another_run(tool: Tool, watch: WatchFolder, tmp_path: Path) -> None:
    tensorboard = TensorBoardFiles(tmp_path)
    watch.add_broken(1, "a.pt")
    assert tool("publish", watch.folder, *tensorboard.options).returncode == 0
    watch.leaderboard.unlink()
    watch.add_broken(1, "b.pt")
    fail(tool, watch.folder, *tensorboard.options, code=3, says=f"delete '{watch.folder / 'publish.json'}'")
    (watch.folder / "publish.json").unlink()
    fail(tool, watch.folder, *tensorboard.options, code=6, says="runs/watched' is there already")
    following = [watch.folder, *tensorboard.options, "--follow", "--idle-limit", 1]
    fail(tool, *following, code=6, says="give this one a --name")  # at once: waiting does not help
    assert tool("publish", watch.folder, *tensorboard.options, "--name", "again").returncode == 0
    assert sorted(tensorboard.runs()) == ["again", "watched"]
    assert tool("publish", watch.folder, *tensorboard.options, "--name", "again").stdout.startswith("nothing new")
