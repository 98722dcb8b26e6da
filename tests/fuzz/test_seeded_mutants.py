# SPDX-License-Identifier: Apache-2.0
"""What runs the fuzz tests finds mistakes of every kind, names the mutant, and goes on; tests/long/fuzz.py keeps count of it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
CANARY = Path(os.environ["TALLY_TEST_FUZZ_CANARY"])


def mutants(folder: Path, count: int = 60, first: int = 0) -> subprocess.CompletedProcess[str]:
    words = [CANARY, folder / "corpus", str(first), str(count), folder / "findings", "1", "32"]
    return subprocess.run(words, capture_output=True, text=True)


def corpus(folder: Path, **files: str) -> Path:
    (folder / "corpus").mkdir()
    for name, text in files.items():
        (folder / "corpus" / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("mistake", "ending"),
    [
        ("crash", "ends with signal 11"),
        ("hang", "takes too long"),
        ("memory", "takes too much memory"),
        ("exception", "ends with signal 6"),
        ("kind", "ends with signal 6"),
        ("lines", "ends with signal 6"),
    ],
)
def test_a_mistake_is_found(tmp_path: Path, mistake: str, ending: str) -> None:
    run = mutants(corpus(tmp_path, good=mistake + 60 * "."), 2)
    assert run.returncode == 1, run.stderr
    assert ending in run.stderr
    found = list((tmp_path / "findings").iterdir())
    assert len(found) >= 1
    for path in found:
        assert path.read_bytes().startswith(mistake.encode())
        number = int(path.name.rpartition("-")[2])
        again = mutants(tmp_path, 1, number)
        assert f"'{path.name}' {ending}" in again.stderr


def test_nothing_is_found_where_nothing_is_wrong(tmp_path: Path) -> None:
    run = mutants(corpus(tmp_path, good="fine", refused="so bad"))
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("60 mutants, ")


@pytest.mark.parametrize(("name", "text", "says"), [("a", "bad", "a is refused: bad"), ("refused-b", "c", "refused-b is read")])
def test_the_corpus_itself_is_as_its_names_say(tmp_path: Path, name: str, text: str, says: str) -> None:
    run = mutants(corpus(tmp_path, **{"0": "fine", name: text}))
    assert run.returncode == 1
    assert says in run.stderr


def long_run(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, TESTS / "long" / "fuzz.py", "--build", folder, "--corpus", folder / "corpora",
               "--state", folder / "state.json", *map(str, words)]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True)


def test_the_long_run_goes_on_from_its_count(tmp_path: Path) -> None:
    (tmp_path / "tests" / "fuzz").mkdir(parents=True)
    shutil.copy(CANARY, tmp_path / "tests" / "fuzz" / "copy_fuzzer")
    (tmp_path / "corpora").mkdir()
    corpus(tmp_path, good="fine").joinpath("corpus").rename(tmp_path / "corpora" / "copy")
    assert long_run(tmp_path, "--per-parser", 700).returncode == 0
    assert json.loads((tmp_path / "state.json").read_text())["mutants"] == {"copy": 700}
    (tmp_path / "corpora" / "copy" / "good").write_text("crash" + 60 * ".")
    run = long_run(tmp_path, "--per-parser", 710)
    assert run.returncode == 1
    state = json.loads((tmp_path / "state.json").read_text())
    assert state["mutants"] == {"copy": 710}
    assert all("copy-70" in finding for finding in state["findings"])
    assert "710 mutants, " in run.stdout
    assert long_run(tmp_path, "--per-parser", 710).returncode == 1, "what was found is not forgotten"
