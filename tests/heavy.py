#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tests with CTest's label 'heavy': which of them to run in a given time, and when each last passed (tests/heavy.txt).

Usage: tests/heavy.py choose BUILD SECONDS    a regular expression for ctest: the gate, and the heavy tests that fit
       tests/heavy.py record BUILD JUNIT      keeps what passed, by ctest's --output-junit
       tests/heavy.py stale BUILD             names those that passed more than 150 commits ago, or never
"""

import datetime
import json
import os
import random
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "tests" / "heavy.txt"
HEAD = """\
# The heavy tests: at which revision each last passed, on which day, in how many seconds.
# Written by: tests/run.sh --all [NAME…] --record
"""
MOST_COMMITS = 150
UNKNOWN_SECONDS = 120
DULL = {"test", "tests", "end", "to", "src", "include", "tally", "py", "cpp", "hpp", "cu", "md", "txt"}


@dataclass(frozen=True)
class Passed:
    revision: str
    day: str
    seconds: int


def read_table(text: str) -> dict[str, Passed]:
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return {name: Passed(revision, day, int(seconds)) for name, revision, day, seconds in rows}


def as_text(table: dict[str, Passed]) -> str:
    width = max(map(len, table), default=0)
    rows = [f"{name:<{width}}  {one.revision}  {one.day}  {one.seconds}\n" for name, one in sorted(table.items())]
    return HEAD + "".join(rows)


def git(*words: str) -> str:
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=True).stdout


def commits_since(revision: str) -> int | None:
    """None where this history does not have the revision."""
    try:
        return int(git("rev-list", "--count", f"{revision}..HEAD"))
    except subprocess.CalledProcessError:
        return None


def changed_since(revision: str) -> list[str]:
    try:
        return git("diff", "--name-only", revision).splitlines()
    except subprocess.CalledProcessError:
        return []


def tests_of(build: Path) -> dict[str, bool]:
    """Name: whether it is heavy."""
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    found = {}
    for test in json.loads(listed.stdout)["tests"]:
        labels = next((one["value"] for one in test.get("properties", []) if one["name"] == "LABELS"), [])
        found[test["name"]] = "heavy" in labels
    return found


def words_of(text: str) -> set[str]:
    """The telling words of a test's or a file's name, in the singular."""
    header = {"header"} if text.startswith("include/") else set()
    return {word.removesuffix("s") for word in re.findall(r"[a-z]+", text.lower())} - DULL | header


def is_about(test: str, paths: list[str]) -> bool:
    return any(words_of(test) & words_of(path) for path in paths)


def in_order(heavy: list[str], table: dict[str, Passed], changed: dict[str, list[str]], revision: str) -> list[str]:
    """Never passed, then those about changed parts, then the others in an order that the revision draws."""
    drawn = sorted(heavy)
    random.Random(revision).shuffle(drawn)
    return sorted(drawn, key=lambda name: (name in table, not is_about(name, changed.get(name, []))))


def fitting(names: list[str], table: dict[str, Passed], core_seconds: float) -> list[str]:
    """Those that nothing is known of get half of the time, at most."""
    chosen, of_unknown = [], core_seconds / 2
    for name in names:
        seconds = table[name].seconds if name in table else UNKNOWN_SECONDS
        if seconds > core_seconds or (name not in table and seconds > of_unknown):
            continue
        chosen.append(name)
        core_seconds -= seconds
        of_unknown -= 0 if name in table else seconds
    return chosen


def choose(build: Path, seconds: float) -> str:
    tests, table = tests_of(build), read_table(TABLE.read_text())
    heavy = [name for name, is_heavy in tests.items() if is_heavy]
    changed = {name: changed_since(table[name].revision) for name in heavy if name in table}
    names = in_order(heavy, table, changed, git("rev-parse", "HEAD").strip())
    chosen = fitting(names, table, seconds * len(os.sched_getaffinity(0)))
    left = sorted(set(heavy) - set(chosen))
    print(f"heavy tests: {len(chosen)} of {len(heavy)} run; left out: {' '.join(left) or 'none'}", file=sys.stderr)
    wanted = [name for name, is_heavy in tests.items() if not is_heavy] + chosen
    return f"^({'|'.join(name.replace('.', '[.]') for name in wanted)})$"


def record(build: Path, junit: Path) -> None:
    heavy = {name for name, is_heavy in tests_of(build).items() if is_heavy}
    table = {name: one for name, one in read_table(TABLE.read_text()).items() if name in heavy}
    revision, day = git("rev-parse", "--short=12", "HEAD").strip(), datetime.date.today().isoformat()
    for case in ET.parse(junit).getroot().iter("testcase"):
        if case.get("status") == "run" and case.get("name") in heavy:
            table[case.get("name")] = Passed(revision, day, round(float(case.get("time"))))
    TABLE.write_text(as_text(table))


def stale(build: Path) -> list[str]:
    table = read_table(TABLE.read_text())
    lines = []
    for name in sorted(name for name, is_heavy in tests_of(build).items() if is_heavy):
        commits = commits_since(table[name].revision) if name in table else None
        if commits is None:
            lines.append(f"{name} is not known to have passed")
        elif commits > MOST_COMMITS:
            lines.append(f"{name} last passed {commits} commits ago, on {table[name].day}")
    return lines


def main(words: list[str]) -> None:
    match words:
        case ["choose", build, seconds]:
            print(choose(Path(build), float(seconds)))
        case ["record", build, junit]:
            record(Path(build), Path(junit))
        case ["stale", build]:
            for line in stale(Path(build)):
                print(f"stale: {line}")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
