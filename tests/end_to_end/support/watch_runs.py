# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of the small net that appear one by one, and a watch that runs meanwhile."""

import csv
import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import torch
from conftest import Small
from launch import LINE_LIMIT_S, Program, Run, finish
from small import TinyNet

POLL = ("--poll", "0.05")


def model_and_data(small_case: Small) -> tuple:
    return ("--model", small_case.model, "--data", small_case.data, "--batch-size", 8)


def name_of(step: int) -> str:
    return f"epoch_{step:04}.pt"


def write_checkpoint(folder: Path, step: int, seed: int | None = None, name: str | None = None) -> Path:
    """As trainers write it: beside other state, in place."""
    path = folder / (name or name_of(step))
    module = TinyNet(seed=step if seed is None else seed)
    torch.save({"model": {f"module.{key}": value for key, value in module.state_dict().items()}, "epoch": step}, path)
    return path


def write_accuracies(folder: Path, seeds: list[int]) -> None:
    for step, seed in enumerate(seeds, start=1):
        write_checkpoint(folder, step, seed)
    (folder / "done").touch()


def write_half(folder: Path, step: int) -> Callable[[], None]:
    """The first half of a checkpoint's file; what is returned writes the rest."""
    whole = write_checkpoint(folder, step).read_bytes()
    path = folder / name_of(step)
    path.write_bytes(whole[: len(whole) // 2])

    def write_rest() -> None:
        with path.open("ab") as file:
            file.write(whole[len(whole) // 2 :])

    return write_rest


def lines_of(output: Path) -> list[dict]:
    path = output / "leaderboard.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def evaluated(output: Path) -> list[dict]:
    return [line for line in lines_of(output) if line["status"] == "evaluated"]


def table_of(output: Path) -> list[dict]:
    with (output / "leaderboard.csv").open(newline="") as file:
        return list(csv.DictReader(file))


class Watch:
    """A watch in the background. Leaving the context ends it."""

    def __init__(self, tally: Program, checkpoints: Path, output: Path, *arguments: object, ranks: int | None = None):
        self.output = output
        self.process: subprocess.Popen[str] = tally.start(
            tally.command("watch", "--checkpoints", checkpoints, "--output", output, *POLL, "--progress", "off",
                          *arguments, ranks=ranks)
        )  # fmt: skip

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def until(self, reached: Callable[[], bool], what: str) -> None:
        """Waits for something that the watch does."""
        deadline = time.monotonic() + LINE_LIMIT_S
        while not reached():
            assert self.process.poll() is None, f"the watch ended: {self.process.communicate()}"
            assert time.monotonic() < deadline, f"not in {LINE_LIMIT_S} s: {what}"
            time.sleep(0.02)

    def until_lines(self, count: int) -> None:
        self.until(lambda: len(lines_of(self.output)) >= count, f"{count} lines")

    def send(self, signal_number: int) -> Run:
        os.kill(self.process.pid, signal_number)
        return self.end()

    def end(self) -> Run:
        return finish(self.process)
