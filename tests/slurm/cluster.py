# SPDX-License-Identifier: Apache-2.0
"""A Slurm cluster on this machine, and jobs on it. Nothing here waits by the clock: squeue is polled."""

import os
import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tests" / "support" / "slurm-one-machine.sh"
JOBS = ROOT / "jobs"
LIMIT_S = 60
CANNOT_RUN_HERE = 5  # exit code of the tool where the machine lacks something


@dataclass(frozen=True)
class Job:
    """How a job ended, or one task of an array."""

    state: str
    code: int
    output: str

    def must_complete(self) -> "Job":
        assert (self.state, self.code) == ("COMPLETED", 0), f"{self.state}, exit {self.code}\n{self.output}"
        return self

    def must_fail(self, code: int, *texts: str) -> "Job":
        assert (self.state, self.code) == ("FAILED", code), f"{self.state}, exit {self.code}\n{self.output}"
        for text in texts:
            assert text in self.output, f"'{text}' is not in:\n{self.output}"
        return self


def wait_until(holds: Callable[[], bool], what: str, limit_s: float = LIMIT_S) -> None:
    deadline = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < deadline, f"not within {limit_s} s: {what}"
        time.sleep(0.1)


class Cluster:
    """Commands for a cluster whose data lie in `folder`."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self._environment = environment | {"SLURM_ONE_DIR": str(folder)}

    def tool(self, *words: object, cwd: Path | None = None, **variables: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(TOOL), *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=cwd,
            env=self._environment | {name: str(value) for name, value in variables.items()}, timeout=120,
        )  # fmt: skip

    def run(self, *command: object, **options: object) -> subprocess.CompletedProcess[str]:
        """Runs a command on the head node."""
        return self.tool("exec", *command, **options)

    def must(self, *command: object, **options: object) -> str:
        ended = self.run(*command, **options)
        assert ended.returncode == 0, f"{command}: exit {ended.returncode}\n{ended.stdout}\n{ended.stderr}"
        return ended.stdout

    def submit(self, *words: object, cwd: Path, **variables: object) -> str:
        """sbatch; returns the job's number."""
        return self.must("sbatch", "--parsable", *words, cwd=cwd, **variables).strip()

    def is_over(self, job: str) -> bool:
        return self.must("squeue", "-h", "-j", job).strip() == ""

    def must_run_on(self, job: str) -> None:
        """What waits for a job's doing learns at once, and why, that the job has ended instead."""
        if self.is_over(job):
            ends = "\n".join(f"{end.state}, exit {end.code}\n{end.output}" for end in self.wait(job))
            raise AssertionError(f"job {job} has ended: {ends}")

    def wait(self, job: str, limit_s: float = LIMIT_S) -> list[Job]:
        """The ends of a job's tasks (of one task, where it is no array), in order."""
        wait_until(lambda: self.is_over(job), f"end of job {job}", limit_s)
        found = [dict(re.findall(r"(\w+)=(\S*)", line)) for line in self._facts(job).splitlines() if line]
        found.sort(key=lambda fields: int(fields.get("ArrayTaskId", 0)))
        return [
            Job(fields["JobState"], int(fields["ExitCode"].split(":")[0]), _text(fields["StdOut"])) for fields in found
        ]

    def _facts(self, job: str) -> str:
        return self.must("scontrol", "show", "job", "--oneliner", job)

    def batch(self, *words: object, cwd: Path, limit_s: float = LIMIT_S, **variables: object) -> Job:
        """Submits a job and returns its end."""
        (job,) = self.wait(self.submit(*words, cwd=cwd, **variables), limit_s)
        return job


def _text(path: str) -> str:
    return Path(path).read_text() if os.path.exists(path) else ""
