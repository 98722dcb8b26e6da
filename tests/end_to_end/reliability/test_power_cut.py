# SPDX-License-Identifier: Apache-2.0
"""What a power cut leaves: of the files of a small script, which tests the layer of faults, and of a run that was stopped."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import power_cut
import pytest
from conftest import Small
from launch import Program

FAULTS = os.environ.get("TALLY_TEST_FAULTS")
pytestmark = pytest.mark.skipif(not FAULTS, reason="no library of faults can be loaded before a program with sanitizers")

SCRIPT = """
import os, sys
os.chdir(sys.argv[1])
def write(name, text, flags=os.O_CREAT | os.O_WRONLY | os.O_APPEND):
    file = os.open(os.path.abspath(name), flags)
    os.write(file, text)
    return file
def sync_folder(name):
    folder = os.open(os.path.abspath(name), os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
synced = write("synced", b"12345678")
os.fsync(synced)
os.write(synced, b"abcdefgh")
os.mkdir(os.path.abspath("folder"))
write("unsynced", b"something")
sync_folder(".")
os.rename(os.path.abspath("old"), os.path.abspath("new"))
os.fsync(write("folder/nameless", b"12345678"))
os.unlink(os.path.abspath("removed"))
os.mkdir(os.path.abspath("last"))
"""
BEFORE = {"old": b"before", "removed": b"1"}
AT_SYNC = {"old": b"before", "removed": b"1", "synced": b"12345678", "folder": None, "unsynced": b""}
NAMES = {"new": b"before", "synced": b"12345678", "folder": None, "folder/nameless": b"12345678", "unsynced": b""}


def run_script(folder: Path, journal: Path, at: int, error: int) -> tuple[int, int]:
    passed = journal.with_name("passed")
    passed.unlink(missing_ok=True)
    env = {"LD_PRELOAD": str(FAULTS), "FAULT_POINTS": f"{folder}|{at}|{error}|0", "FAULT_POINTS_PASSED": str(passed),
           "FAULT_POINTS_JOURNAL": str(journal)}  # fmt: skip
    code = subprocess.run([sys.executable, "-c", SCRIPT, folder], env=os.environ | env, capture_output=True).returncode
    return code, passed.stat().st_size


def begin(tmp_path: Path, name: str) -> tuple[Path, Path]:
    folder, journal = tmp_path / name / "folder", tmp_path / name / "journal"
    folder.mkdir(parents=True)
    for file, text in BEFORE.items():
        (folder / file).write_bytes(text)
    power_cut.begin_journal(journal, folder)
    return folder, journal


def tree(folder: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def test_what_a_power_cut_leaves(tmp_path: Path) -> None:
    folder, journal = begin(tmp_path, "counted")
    code, operations = run_script(folder, journal, 0, 0)
    assert code == 0 and not power_cut.was_cut(journal)
    folder, journal = begin(tmp_path, "cut")
    code, passed = run_script(folder, journal, operations, -3)
    assert (code, passed) == (-signal.SIGKILL, operations) and power_cut.was_cut(journal)
    assert not (folder / "last").exists()
    left = {}
    for variant in power_cut.VARIANTS:
        power_cut.write_left(journal, folder, variant, tmp_path / variant)
        left[variant] = tree(tmp_path / variant)
    assert left["synced"] == AT_SYNC
    assert left["names"] == NAMES
    assert left["torn"] == NAMES | {"synced": b"12345678abcd", "unsynced": b"some"}
    assert left["zeros"] == NAMES | {"synced": b"12345678" + bytes(8), "unsynced": bytes(9)}
    assert ("old" in left["mixed"]) != ("new" in left["mixed"]), "a rename is one step"


def test_each_mixture_of_names_has_each_file_once(tmp_path: Path) -> None:
    folder, journal = begin(tmp_path, "cut")
    run_script(folder, journal, 0, 0)
    seen = set()
    for seed in range(30):
        power_cut.write_left(journal, folder, "mixed", tmp_path / str(seed), seed)
        names = set(tree(tmp_path / str(seed)))
        assert ("old" in names) != ("new" in names)
        assert {"synced", "unsynced", "folder"} <= names
        seen.add(frozenset(names))
    assert len(seen) > 4


def test_progress_that_a_run_says_to_be_kept_lasts(tally: Program, small_case: Small, tmp_path: Path) -> None:
    """The name of the new folder, too."""
    results, journal = tmp_path / "results", tmp_path / "journal"
    results.mkdir()
    power_cut.begin_journal(journal, results)
    env = {"LD_PRELOAD": str(FAULTS), "FAULT_POINTS": f"{results}/|0|0|0", "FAULT_POINTS_STOP": "40",
           "FAULT_POINTS_JOURNAL": str(journal)}  # fmt: skip
    words = ["evaluate", "--model", small_case.model, "--data", small_case.data, "--batch-size", 4,
             "--checkpoint-every", "0.000001", "--output"]  # fmt: skip
    stopped = tally(*words, results / "run", env=env)
    assert stopped.code == 75, stopped.stderr
    power_cut.write_left(journal, results, "synced", tmp_path / "left")
    assert list((tmp_path / "left/run/progress").glob("*.state"))
    resumed = tally(*words, tmp_path / "left/run", "--resume").must_succeed()
    assert "--resume goes on behind" in resumed.stderr
