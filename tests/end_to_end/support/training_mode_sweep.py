#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports and traces many networks in both modes, and asks which of the files are refused for training mode.

None may be in evaluation mode; in training mode each whose results show it must be. Not part of the tests, which try a
few of these networks (test_architectures.py): with all of them it takes a quarter of an hour.

    TALLY_BIN=build/tally "$TALLY_PYTHON" tests/end_to_end/support/training_mode_sweep.py [PATTERN...]

Without TALLY_BIN only the exporter's own judgement is asked. PATTERN: of names, such as timm:res*; default: all.
"""

import fnmatch
import os
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "data_tools"), str(ROOT / "tests" / "support"), str(Path(__file__).parent)]

import torch  # noqa: E402
from tally_export.training_mode import of_torchscript  # noqa: E402

import architectures as nets  # noqa: E402


@dataclass(frozen=True)
class Outcome:
    """expected: how training mode shows; found: what the exporter finds in the graph; refused: by the program."""

    file: str
    expected: list[str]
    found: list[str]
    refused: str | None
    notes: list[str]

    def is_right(self) -> bool:
        is_found = self.refused in (None, "yes" if self.expected else "no") and bool(self.found) == bool(self.expected)
        return is_found and (not self.notes or bool(self.expected))


def refused(model: Path, data: Path) -> str | None:
    """By `tally check`: yes, no, or how else it failed; None without a program."""
    program = os.environ.get("TALLY_BIN")
    if not program:
        return None
    command = [program, "check", "--model", str(model), "--data", str(data), "--batch-size", "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return "no"
    return "yes" if done.returncode == 4 and "training mode" in done.stderr else done.stderr.strip()


def outcome(file: str, model: Path, data: Path, expected: list[str], notes: list[str]) -> Outcome:
    found = sorted({str(one) for one in of_torchscript(torch.jit.load(model))})
    return Outcome(file, expected, found, refused(model, data), notes)


def is_of_mode(line: str) -> bool:
    """Whether the exporter says that something is active, or that the trace decided something, or did not do."""
    said = "has this active" in line or "decides by its data" in line
    return said or (line.startswith("wrote ") and " traced, " not in line)


def outcomes(subject: nets.Subject, folder: Path) -> Iterator[Outcome]:
    model, data = folder / "model.pt", nets.write_data(folder / "data.h5", subject.shape)
    notes = [line for line in nets.export(subject, model) if is_of_mode(line)]
    yield outcome("exported", model, data, [], notes)
    nets.trace(subject.module.eval(), subject.example()).save(model)
    yield outcome("traced", model, data, [], [])
    nets.trace(subject.module.train(), subject.example()).save(model)
    yield outcome("training", model, data, nets.shows_training_mode(subject), [])


def sweep(patterns: list[str]) -> int:
    """Prints a line for each file; returns how many came out otherwise than they should."""
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        for net in nets.names():
            begin = time.monotonic()
            if not any(fnmatch.fnmatch(net, pattern) for pattern in patterns or ["*"]):
                continue
            try:
                for one in outcomes(nets.make_subject(net, Path(name)), Path(name)):
                    verdict = "ok" if one.is_right() else "WRONG"
                    wrong += not one.is_right()
                    print(verdict, net, one.file, one.expected, one.refused, one.found[:2], one.notes, sep="\t")
            except Exception:
                wrong += 1
                print("WRONG", net, traceback.format_exc().strip().splitlines()[-1], sep="\t")
            print("", net, f"{time.monotonic() - begin:.1f} s", sep="\t", flush=True)
    return wrong


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(1 if sweep(sys.argv[1:]) else 0)
