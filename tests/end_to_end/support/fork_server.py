# SPDX-License-Identifier: Apache-2.0
"""Many runs of one start of the program, on one rank (tests/support/faults/fork_server.h).

A run takes a tenth of the time that it takes to load LibTorch and to start MPI.
"""

import os
import select
import signal
import subprocess
from pathlib import Path

from launch import Run, environment

KINDS = ("files", "reads", "memory", "mpi", "clock")


class ForkServer:
    """Of a command whose first operation on a path that begins with `prefix` is not done yet."""

    def __init__(self, command: list[str], prefix: str, preload: Path, env: dict[str, str], limit_s: float,
                 cwd: Path | None = None) -> None:  # fmt: skip
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        self._limit_s = limit_s
        self.peak_kib = 0  # of the latest run, what it shares with the server included
        own = {"LD_PRELOAD": str(preload), "FAULT_POINTS": f"{prefix}|0|0|0", "FAULT_POINTS_SERVER": f"{orders},{answers}"}
        self._process = subprocess.Popen(command, env=environment() | env | own, pass_fds=(orders, answers), cwd=cwd,
                                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL)  # fmt: skip
        os.close(orders)
        os.close(answers)

    def close(self) -> None:
        os.close(self._orders)
        os.close(self._answers)
        self._process.wait()

    def _answer(self) -> int:
        line = b""
        while not line.endswith(b"\n"):
            if not select.select([self._answers], [], [], self._limit_s)[0]:
                raise TimeoutError
            got = os.read(self._answers, 1)
            assert got, f"{self._process.args} has ended with {self._process.wait()}"
            line += got
        return int(line)

    def run(self, said: Path, at: int = 0, error: int = 0, sent: int = 0, stop: int = 0, kind: str = "files",
            journal: Path | None = None, passed: Path | None = None) -> Run:  # fmt: skip
        paths = " ".join(str(path) if path else "-" for path in (journal, passed, said))
        os.write(self._orders, f"{at} {error} {sent} {stop} {KINDS.index(kind)} {paths}\n".encode())
        pid = self._answer()
        try:
            status = self._answer()
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            self._answer()
            self._answer()
            raise AssertionError(f"not ended after {self._limit_s} s: {self._process.args}") from None
        self.peak_kib = self._answer()
        texts = [said.with_suffix(ending).read_text(errors="replace") for ending in (".out", ".err")]
        return Run(os.waitstatus_to_exitcode(status), *texts)
