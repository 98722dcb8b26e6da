"""Evaluations with weights that nobody means well with: in little memory, and with an eye on what must not happen."""

import resource
from pathlib import Path

from checkpoints import make_net
from launch import Program, Run
from weight_runs import WeightRuns

# A run takes less than a third of it.
DATA_LIMIT_BYTES = 600 << 20
MAX_LINE = 1500


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (DATA_LIMIT_BYTES, DATA_LIMIT_BYTES))


class HostileRuns:
    """What a file names as `folder / "mark"` must not come to be."""

    def __init__(self, tally: Program, runs: WeightRuns, folder: Path) -> None:
        self._tally, self._runs, self._output, self.mark = tally, runs, folder / "run", folder / "mark"

    def start(self, weights: Path, *options: object, ranks: int | None = None) -> Run:
        words = ["--model", self._runs.base(), "--data", self._runs.data, "--weights", weights, *options]
        words += ["--output", self._output, "--overwrite", "--progress", "off"]
        run = self._tally("evaluate", *words, ranks=ranks, preexec_fn=_limit_memory)
        assert not self.mark.exists()
        return run

    def refuse(self, weights: Path, *texts: str, options: tuple[str, ...] = (), ranks: int | None = None,
               named: str = "") -> Run:  # fmt: skip
        """One short line, and no result. `named`: what the line names where that is not the file itself."""
        run = self.start(weights, *options, ranks=ranks).must_fail(4, named or weights.name, *texts)
        assert len(run.errors[0]) < MAX_LINE
        assert not self._output.exists()
        return run

    def read_or_refuse(self, weights: Path) -> None:
        """Where both are right."""
        run = self.start(weights)
        assert run.code == 0 or run.must_fail(4, weights.name)

    def accept(self, weights: Path) -> None:
        """Gives the digests of the net."""
        self.start(weights).must_succeed()
        assert self._runs.with_weights(weights).digests == self._runs.expected(make_net().state_dict())
