# SPDX-License-Identifier: Apache-2.0
"""Weights that nobody means well with, opened in little memory and with an eye on what must not happen."""

import os
import re
import resource
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import small
from checkpoints import make_net
from conftest import Evaluate, Result, Small
from launch import LINE_LIMIT_S, Program, Run
from weight_runs import WeightRuns

# A run takes less than a third of it for itself; a process that opens only takes 130 MiB less.
DATA_LIMIT_BYTES = 600 << 20
OPENING_LIMIT_BYTES = 470 << 20
MAX_LINE = 1500


def _limit_memory(num_bytes: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_DATA, (num_bytes, num_bytes))


class Opener:
    """One process that opens weights as the program does, and says for each how that ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._stderr = tempfile.NamedTemporaryFile("r")
        self.seen: set[str] = set()  # tests of which a case was run by the program itself

    def open(self, weights: Path, key: str) -> Run:
        if self._process is None:
            with open(self._stderr.name, "a") as stderr:
                self._process = subprocess.Popen(
                    os.environ["TALLY_TEST_OPEN_EACH"], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=stderr, preexec_fn=_limit_memory(OPENING_LIMIT_BYTES),
                )  # fmt: skip
        self._process.stdin.write(f"{weights}\t{key}\n")
        self._process.stdin.flush()
        limit = threading.Timer(LINE_LIMIT_S, self._process.kill)
        limit.start()
        line = self._process.stdout.readline()
        limit.cancel()
        if not line:
            code, self._process = self._process.wait(), None
            pytest.fail(f"opening {weights} ended the process: {code}")
        beside = self._stderr.read()  # on from what was read before
        if line == "opened\n":
            return Run(0, "", beside)
        return Run(int(re.match(r"tally: error\[(\d)\]", line).group(1)), "", beside + line)

    def close(self) -> None:
        if self._process is not None:
            self._process.communicate()
            assert self._process.returncode == 0


class HostileRuns:
    """What a file names as `folder / "mark"` must not come to be."""

    def __init__(self, tally: Program, runs: WeightRuns, folder: Path, opener: Opener, test: str) -> None:
        self._tally, self._runs, self._output, self.mark = tally, runs, folder / "run", folder / "mark"
        self._opener, self._test = opener, test

    def start(self, weights: Path, *options: object, ranks: int | None = None) -> Run:
        words = ["--model", self._runs.base(), "--data", self._runs.data, "--weights", weights, *options]
        words += ["--output", self._output, "--overwrite", "--progress", "off"]
        run = self._tally("evaluate", *words, ranks=ranks, preexec_fn=_limit_memory(DATA_LIMIT_BYTES))
        assert not self.mark.exists()
        return run

    def refuse(self, weights: Path, *texts: str, key: str = "", ranks: int | None = None, named: str = "") -> None:
        """One short line, and no result. `named`: what the line names where that is not the file itself.

        By the program itself for one case of each test, for several ranks, and where the file is opened and what is
        wrong shows later.
        """
        run = None
        if ranks is None and self._test in self._opener.seen:
            run = self._open(weights, key)
        if run is None or run.code == 0:
            run = self.start(weights, *(["--weights-key", key] if key else []), ranks=ranks)
            self._opener.seen.add(self._test)
            assert not self._output.exists()
        run.must_fail(4, named or weights.name, *texts)
        assert len(run.errors[0]) < MAX_LINE

    def read_or_refuse(self, weights: Path) -> None:
        """Where both are right."""
        run = self._open(weights, "")
        if run.code == 0:
            run = self.start(weights)
        assert run.code == 0 or run.must_fail(4, weights.name)

    def accept(self, weights: Path) -> None:
        """Gives the digests of the net."""
        run = self.start(weights).must_succeed()
        result = Result(self._output, small.report(self._output), run)
        assert result.digests == self._runs.expected(make_net().state_dict())

    def _open(self, weights: Path, key: str) -> Run:
        run = self._opener.open(weights, key)
        assert not self.mark.exists()
        return run


@pytest.fixture(scope="module")
def opener() -> Iterator[Opener]:
    opener = Opener()
    yield opener
    opener.close()


@pytest.fixture(scope="module")
def runs(evaluate: Evaluate, small_case: Small, tmp_path_factory: pytest.TempPathFactory) -> WeightRuns:
    return WeightRuns(evaluate, small_case.data, tmp_path_factory.mktemp("models"))


@pytest.fixture
def hostile(
    tally: Program, runs: WeightRuns, opener: Opener, tmp_path: Path, request: pytest.FixtureRequest
) -> HostileRuns:
    return HostileRuns(tally, runs, tmp_path, opener, request.node.originalname)
