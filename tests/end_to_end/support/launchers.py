# SPDX-License-Identifier: Apache-2.0
"""The launchers that a fault meets a run under: mpirun, and srun on the cluster of tests/slurm."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from launch import Program, Run, environment
from running import LIMIT_S, rank_in

ROOT = Path(__file__).resolve().parents[3]
CLUSTER = ROOT / "tests" / "support" / "slurm-one-machine.sh"
CANNOT_RUN_HERE = 5  # its exit code where the machine lacks something
RANKS_OF_NODE = 8
_RANK = "${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-$PMI_RANK}}"
_MARK = "FAULT_MATRIX_RUN"
# What srun and its daemons say of a step that failed, or that was killed.
_OF_SLURM = re.compile(r"^(srun|slurmstepd(-\w+)?): ")


def on_rank(rank: int, special: Sequence[object], usual: Sequence[object]) -> list[str]:
    """One command for all ranks, of which one does something else."""
    script = f'[ "{_RANK}" != "$0" ] || exec {shlex.join(map(str, special))}; exec "$@"'
    return ["sh", "-c", script, str(rank), *map(str, usual)]


def with_variables(variables: Mapping[str, object], command: Sequence[object]) -> list[object]:
    return ["env", *(f"{name}={value}" for name, value in variables.items()), *command]


def marked(name: str, mark: str, binary: Path | None = None) -> dict[int, dict[str, str]]:
    """Processes with this variable of the environment, by id, and their environment."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if binary is not None and not (folder / "exe").samefile(binary):
                continue
            settings = dict(entry.partition("=")[::2] for entry in (folder / "environ").read_text().split("\0"))
        except (OSError, UnicodeDecodeError):  # it has ended, or is none of ours
            continue
        if settings.get(name) == mark:
            found[int(folder.name)] = settings
    return found


def _parent_of(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        return None


class CannotRunHereError(Exception):
    """The machine lacks something that the launcher wants."""


class Launcher:
    """Starts a command on each rank."""

    name = ""
    environment: dict[str, str] = {}

    def prefix(self, ranks: int, one_node: bool) -> list[str]:
        raise NotImplementedError

    def noise(self, run: Run) -> list[str]:
        return [line for line in run.noise if not _OF_SLURM.match(line)]

    @contextmanager
    def without_shared_memory(self) -> Iterator[list[str]]:
        """Where /dev/shm is full; what it gives stands before the command."""
        raise NotImplementedError

    def close(self) -> None:
        pass


class Mpirun(Launcher):
    name = "mpirun"

    def __init__(self, path: str) -> None:
        self._path = path

    def prefix(self, ranks: int, one_node: bool) -> list[str]:
        return [self._path, "-n", str(ranks)]

    @contextmanager
    def without_shared_memory(self) -> Iterator[list[str]]:
        script = 'mount -t tmpfs -o size=4k full /dev/shm && echo full >/dev/shm/full && exec "$@"'
        yield ["unshare", "--mount", "sh", "-c", script, "sh"]


class Srun(Launcher):
    """A cluster of its own, and one allocation, in which each run is a step. Two nodes for two ranks and more."""

    name = "srun"

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="tally-slurm-"))
        self._folder.chmod(0o711)
        # This may itself run in a job of another Slurm.
        own = {name: value for name, value in environment().items() if not name.startswith(("SLURM", "SBATCH", "PMI"))}
        self._own = own | {"SLURM_ONE_DIR": str(self._folder / "cluster"), "SLURM_ONE_NODES": "2",
                           "SLURM_ONE_CPUS": str(RANKS_OF_NODE)}  # fmt: skip
        self.environment = {"SLURM_ONE_DIR": self._own["SLURM_ONE_DIR"], "SLURM_PMIX_FENCE": "ring"}
        self._job = ""
        self._tool("start")
        nodes = ("--nodes=2", f"--ntasks-per-node={RANKS_OF_NODE}", "--exclusive", "--time=UNLIMITED")
        held = self._tool("exec", "sbatch", "--parsable", *nodes, "--output=/dev/null", "--wrap", "sleep infinity")
        self._job = held.strip()
        self._until_it_runs()

    def _until_it_runs(self) -> None:
        deadline = time.monotonic() + LIMIT_S
        while "RUNNING" not in self._tool("exec", "squeue", "-h", "-j", self._job, "-o", "%T"):
            assert time.monotonic() < deadline, "the allocation does not begin"
            time.sleep(0.1)

    def _tool(self, *words: str) -> str:
        ended = subprocess.run([CLUSTER, *words], capture_output=True, text=True, env=self._own, timeout=120)
        if ended.returncode == CANNOT_RUN_HERE:
            raise CannotRunHereError(ended.stderr.strip().splitlines()[-1])
        assert ended.returncode == 0, f"{words}: {ended.stderr}"
        return ended.stdout

    def prefix(self, ranks: int, one_node: bool) -> list[str]:
        nodes = 1 if one_node or ranks == 1 else 2
        return [
            str(CLUSTER), "exec", "srun", f"--jobid={self._job}", "--overlap", "--mpi=pmix", "--wait=10",
            "--kill-on-bad-exit=0", "-n", str(ranks), "-N", str(nodes),
            f"--ntasks-per-node={ranks // nodes}",
        ]  # fmt: skip

    @contextmanager
    def without_shared_memory(self) -> Iterator[list[str]]:
        nodes = [Path(self._own["SLURM_ONE_DIR"]) / "shm" / f"node{number}" for number in (1, 2)]
        for node in nodes:
            subprocess.run(["mount", "-o", "remount,size=4k", node], check=True)
            (node / "full").write_text("full")
        try:
            yield []
        finally:
            for node in nodes:
                (node / "full").unlink(missing_ok=True)
                subprocess.run(["mount", "-o", "remount,size=50%", node], check=True)

    def close(self) -> None:
        try:
            self._tool("clean")
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)


@dataclass
class Job:
    """A run that has been started. Nothing of it goes on behind `end`."""

    launcher: Launcher
    binary: Path
    mark: str
    process: subprocess.Popen[str]
    started: float = field(default_factory=time.monotonic)

    def pids(self) -> list[int]:
        """In order of rank. What a rank itself has started, to look into a file, is none."""
        ranks, found = {}, marked(_MARK, self.mark, self.binary)
        for pid, settings in found.items():
            rank = rank_in(settings)
            if rank is not None and _parent_of(pid) not in found:
                ranks[rank] = pid
        return [ranks[rank] for rank in sorted(ranks)]

    def end(self, within_s: float) -> Run:
        began = time.monotonic()
        try:
            stdout, stderr = self.process.communicate(timeout=within_s)
            deadline = began + within_s + LIMIT_S
            while left := marked(_MARK, self.mark):
                assert time.monotonic() < deadline, f"processes go on: {left.keys()}"
                time.sleep(0.05)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"a hang: not ended after {within_s} s") from None
        finally:
            self.kill()
        code = self.process.returncode
        return Run(code if code >= 0 else 128 - code, stdout, stderr)

    def kill(self) -> None:
        for pid in marked(_MARK, self.mark):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.kill()
        self.process.communicate()


def start(launcher: Launcher, program: Program, ranks: int, command: Sequence[object], mark: str,
          before: Sequence[str] = (), one_node: bool = False) -> Job:  # fmt: skip
    """`command` is that of each rank; `before` stands before the launcher."""
    line = [*before, *launcher.prefix(ranks, one_node), *map(str, command)]
    process = program.start(line, env=launcher.environment | {_MARK: mark})
    return Job(launcher, program.binary, mark, process)
