# SPDX-License-Identifier: Apache-2.0
"""Evaluations of the varied net: with its weights given by --weights, and with the same weights inside the model."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import small
from checkpoints import State, make_net
from conftest import Evaluate, Result
from prepared import SUPPORT, Cache
from varied_net import VariedNet

BASE_SEED = 3
RANKED = ["dcp-1", "dcp-2", "dcp-4", "deepspeed-1", "deepspeed-2", "deepspeed-3"]


def ranked_checkpoints(cache_dir: Path, writer: str, num_ranks: int) -> Path:
    """The folder of all forms that this writer of ranked_checkpoints.py writes on so many ranks."""

    def run(path: Path) -> None:
        words = [sys.executable, SUPPORT / "ranked_checkpoints.py", path, *RANKED]
        made = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=300)
        assert made.returncode == 0, made.stderr

    return Cache(cache_dir).made("ranked", run) / f"{writer}-{num_ranks}"


class WeightRuns:
    """Models and their results, made once."""

    def __init__(self, evaluate: Evaluate, data: Path, folder: Path) -> None:
        self.evaluate, self.data, self._folder = evaluate, data, folder
        self._expected: dict[Path, tuple[str, str]] = {}

    def base(self, precision: str = "fp32") -> Path:
        """A model whose weights are to be replaced."""
        return self._model(f"base-{precision}.pt", lambda: make_net(precision, BASE_SEED))

    def expected(self, state: State, precision: str = "fp32") -> tuple[str, str]:
        """The digests of a model that PyTorch has given this state."""

        def make() -> VariedNet:
            net = make_net(precision, BASE_SEED)
            net.load_state_dict(state)
            return net

        facts = repr(sorted((name, tensor.dtype, tensor.float().tolist()) for name, tensor in state.items()))
        model = self._model(f"{hashlib.sha256(facts.encode()).hexdigest()[:16]}-{precision}.pt", make)
        if model not in self._expected:
            self._expected[model] = self.evaluate(model, self.data).digests
        return self._expected[model]

    def with_weights(self, weights: Path, *options: object, precision: str = "fp32", ranks: int | None = None,
                     model: Path | None = None) -> Result:  # fmt: skip
        words = ["--weights", weights, *options]
        return self.evaluate(model or self.base(precision), self.data, *words, ranks=ranks)

    def _model(self, name: str, make: Callable[[], VariedNet]) -> Path:
        path = self._folder / name
        if not path.exists():
            small.save_model(make(), path, json.dumps(small.card()))
        return path
