# SPDX-License-Identifier: Apache-2.0
"""Runs the program as a user does, alone or under mpirun, and keeps what it said."""

import atexit
import functools
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import amx
from mpi_found import Mpi, mpi_of, without_launcher_lines

LINE_LIMIT_S = 60


@dataclass(frozen=True)
class Run:
    """How one start of the program ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def errors(self) -> list[str]:
        return re.findall(r"tally: error\[.*", self.stderr)

    @property
    def noise(self) -> list[str]:
        """Lines on stderr that are neither the program's own nor the launcher's."""
        return [line for line in without_launcher_lines(self.stderr) if not line.startswith("tally: ")]

    def must_succeed(self) -> "Run":
        assert self.code == 0, f"exit {self.code}\n{self.stderr}"
        assert not self.errors
        return self

    def must_fail(self, code: int, *texts: str) -> "Run":
        """One line that names every text, this exit code, nothing else on stderr."""
        assert len(self.errors) == 1, f"exit {self.code}, lines: {self.errors}\n{self.stderr}"
        assert self.errors[0].startswith(f"tally: error[{code}]"), self.errors[0]
        for text in texts:
            assert text in self.errors[0], f"'{text}' is not in: {self.errors[0]}"
        assert self.code == code, self.stderr
        assert self.noise == []
        assert self.stdout == ""
        return self


class Program:
    """The program under test. `ranks` of None starts it without a launcher."""

    def __init__(self, binary: Path, launcher: str) -> None:
        self.binary = binary
        self.launcher = launcher

    @property
    def mpi(self) -> Mpi:
        return mpi_of(self.launcher)

    def command(self, *arguments: object, ranks: int | None = None) -> list[str]:
        prefix = [] if ranks is None else [self.launcher, "-n", str(ranks)]
        return [*prefix, str(self.binary), *map(str, arguments)]

    def start(self, command: list[str], cwd: Path | None = None, env: dict[str, str] | None = None,
              **options: object) -> subprocess.Popen[str]:  # fmt: skip
        return subprocess.Popen(
            command, cwd=cwd, env=environment() | (env or {}), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,
        )  # fmt: skip

    def run_command(self, command: list[str], limit_s: float = LINE_LIMIT_S, **options: object) -> Run:
        return finish(self.start(command, **options), limit_s)

    def __call__(self, *arguments: object, ranks: int | None = None, limit_s: float = LINE_LIMIT_S,
                 **options: object) -> Run:  # fmt: skip
        return self.run_command(self.command(*arguments, ranks=ranks), limit_s, **options)


def finish(process: subprocess.Popen[str], limit_s: float = LINE_LIMIT_S) -> Run:
    """Waits for the end; a process that does not end in time is a failed test, and is ended."""
    try:
        stdout, stderr = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)  # the launcher then ends its ranks
        try:
            stdout, stderr = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            stdout, stderr = process.communicate()
        raise AssertionError(f"not ended after {limit_s} s: {process.args}\n{stdout}\n{stderr}") from None
    return Run(process.returncode, stdout, stderr)


@functools.cache
def _launcher_folder() -> str:
    """A folder for what Open MPI keeps on disk while a job runs.

    By default all jobs of a user share one, /tmp/ompi.HOST.UID: the last job to end removes it, and fails another that
    begins in that moment. In this one it exists all the time.
    """
    folder = tempfile.mkdtemp(prefix="tally-mpi-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    shared = Path(folder) / f"ompi.{socket.gethostname().split('.')[0]}.{os.getuid()}"
    (shared / "kept").mkdir(parents=True)
    return folder


def environment() -> dict[str, str]:
    """This process's, without settings of tally, and with what a launcher needs as root and on few cores.

    Tally finds out by itself what this process was given for PyTorch: the caps of AMX.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TALLY_") and name not in amx.caps()}
    return kept | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_orte_tmpdir_base": _launcher_folder(),
        # The same for Open MPI 5 and for MPICH: each MPI reads its own.
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "PRTE_MCA_hwloc_default_binding_policy": "none",
        "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
    }
