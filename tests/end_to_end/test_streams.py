# SPDX-License-Identifier: Apache-2.0
"""Standard streams that are full, closed or unread: nothing is lost in silence, and a result is what it is elsewhere."""

import os
import stat
import subprocess
from pathlib import Path

import small
from conftest import Small
from launch import LINE_LIMIT_S, Program, environment

NO_SPACE = "cannot write to standard output (No space left on device)"


def words(case: Small, *options: object) -> list[object]:
    return ["--model", case.model, "--data", case.data, *options]


def modes(folder: Path) -> set[str]:
    """Of all files in it."""
    return {oct(stat.S_IMODE(path.stat().st_mode)) for path in folder.iterdir()}


def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
    options = {"stderr": subprocess.PIPE, "text": True} | options
    return subprocess.run(command, env=environment(), timeout=LINE_LIMIT_S, check=False, **options)


def test_standard_output_is_full(tally: Program, small_case: Small, tmp_path: Path) -> None:
    output = tmp_path / "run"
    with Path("/dev/full").open("w") as full:
        check = run(tally.command("check", *words(small_case)), stdout=full)
        evaluate = run(tally.command("evaluate", *words(small_case, "--output", output)), stdout=full)
    assert check.returncode == evaluate.returncode == 6
    assert [line for line in check.stderr.splitlines() if "error" in line] == [
        f"tally: error[6]: {NO_SPACE}. Check where it is redirected to."
    ]
    assert f"tally: error[6]: {NO_SPACE}. The result itself is complete." in evaluate.stderr.splitlines()
    assert small.report(output)["samples"]["exactly_once"]


def test_nobody_reads(tally: Program, small_case: Small, tmp_path: Path) -> None:
    """What reads the streams may leave first, as `head` does."""
    output = tmp_path / "run"
    read, unread = os.pipe()
    os.close(read)
    command = tally.command("evaluate", *words(small_case, "--output", output))
    ended = run(command, stdout=unread, stderr=unread, umask=0)
    os.close(unread)
    assert ended.returncode == 0
    assert small.report(output)["samples"]["exactly_once"]
    assert modes(output) == {"0o640"}, "whatever the mask of the shell"
    assert modes(tmp_path) == {"0o750"}


def test_streams_are_closed(tally: Program, small_case: Small, tmp_path: Path) -> None:
    output = tmp_path / "run"
    command = tally.command("evaluate", *words(small_case, "--output", output))
    ended = run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command], umask=0o077)
    assert ended.returncode == 0
    assert small.report(output)["samples"]["exactly_once"]
    assert modes(output) == {"0o600"}
