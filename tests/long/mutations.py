#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes small random mistakes in the code, one at a time, and counts how many the unit and MPI tests notice.

    python tests/long/mutations.py --build build-mutations [--edits 20] [--again] [--list]

A mistake is made in the sources of this checkout, which must be a copy that nobody edits meanwhile, compiled, and tested
by the room's tests and by those of the rooms that use it, until one fails; then it is taken back. A call that was killed
leaves its mistake in the state file, and the next one takes it back first. Edits are drawn by their numbers, from one
room after the other. Those that tests/long/equivalent_edits.txt names change nothing that could be noticed. A mistake that
nothing notices takes longest: --quick runs the room's own compiled tests alone, --list shows what they leave, and --again
tries that with all tests.
"""

import argparse
import hashlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from random_edits import Edit, draw

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("plan", "exact", "metrics", "weights", "resume")
# What of a GPU only its simulation runs.
OTHER_USERS = {"metrics": ["simulated_gpu"]}
LEFT_OUT = re.compile(r"\.np[25]$|^simulated_schedules$")  # the same tests on other numbers of ranks, or again
MOST_MEMORY = 4 << 30  # that can be written to; of addresses LibTorch takes many more
LEAST_SECONDS = 10.0  # that a test may take with a mistake, and
TIMES_SLOWER = 10.0  # than without one: then it counts as hanging
UNKNOWN_SECONDS = 900.0  # where it has not run without one yet
BY_TIME_LIMIT = ", by its time limit"


def run(*command: str | Path, **options) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)


class Seconds(NamedTuple):
    """What a test takes. It ends by those of a processor, as a rule, which other jobs on the machine do not change."""

    of_clock: float = UNKNOWN_SECONDS
    of_processor: float = UNKNOWN_SECONDS

    def most(self) -> "Seconds":
        return Seconds(*(max(LEAST_SECONDS, TIMES_SLOWER * each) for each in self))


def limit(seconds: Seconds) -> None:
    """A mistake may take memory and time without end."""
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds.of_processor), int(seconds.of_processor) + 5))


def end_group(process: subprocess.Popen) -> None:
    """A test and what it runs. mpirun ends its ranks, which are in groups of their own, when it is asked to."""
    for sign, patience in ((signal.SIGTERM, 5), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, sign)
            process.wait(patience)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


def users_of(room: str) -> list[str]:
    table = (ROOT / "src" / "rooms.txt").read_text().split("[vendors]")[0]
    lines = re.findall(r"^(\w+):(.*)$", table, re.MULTILINE)
    return [name for name, uses in lines if room in uses.split()] + OTHER_USERS.get(room, [])


class Tests:
    """The unit and MPI tests by the folder that they are in, and what each of them needs built."""

    def __init__(self, build: Path) -> None:
        self.build = build
        shown = json.loads(run("ctest", "--test-dir", build, "--show-only=json-v1", check=True).stdout)
        self.rooms: dict[str, list[str]] = {}
        self.programs: dict[str, list[str]] = {}
        self.runs: dict[str, dict] = {}  # how each is run
        self.in_python: set[str] = set()
        targets = run("ninja", "-C", build, "-t", "targets", "all", check=True).stdout
        known = set(re.findall(r"^(\S+): \S*_EXECUTABLE_LINKER", targets, re.MULTILINE))
        for test in shown["tests"]:
            values = {each["name"]: each["value"] for each in test["properties"]}
            labels = values.get("LABELS", [])
            if not {"unit", "mpi"} & set(labels) or "gpu" in labels or LEFT_OUT.search(test["name"]):
                continue
            if "FIXTURES_SETUP" in values:
                continue
            self.rooms.setdefault(Path(values["WORKING_DIRECTORY"]).name, []).append(test["name"])
            environment = dict(each.split("=", 1) for each in values.get("ENVIRONMENT", []))
            self.runs[test["name"]] = {
                "args": test.get("command", []),
                "cwd": values["WORKING_DIRECTORY"],
                "env": os.environ | {"GTEST_FAIL_FAST": "1"} | environment,
            }
            words = [*test.get("command", []), *environment.values()]
            if any(Path(word).name.startswith("python") for word in test.get("command", [])):
                self.in_python.add(test["name"])
            self.programs[test["name"]] = sorted({word.removeprefix(f"{build}/") for word in words} & known)
        costs = build / "Testing" / "Temporary" / "CTestCostData.txt"  # how long they took, if they ran before
        lines = [line.split() for line in costs.read_text().splitlines()] if costs.exists() else []
        self.seconds = {line[0]: float(line[2]) for line in lines if len(line) == 3}

    def of(self, room: str, quick: bool) -> list[str]:
        """The room's own first, the short ones first."""
        own = [name for name in self.rooms[room] if not (quick and name in self.in_python)]
        others = [] if quick else [name for user in users_of(room) for name in self.rooms.get(user, [])]
        return [name for part in (own, others) for name in sorted(part, key=lambda each: self.seconds.get(each, 0))]

    def compile(self, names: list[str]) -> bool:
        programs = sorted({program for name in names for program in self.programs[name]})
        return not programs or run("ninja", "-C", self.build, *programs).returncode == 0

    def failure(self, name: str, most: Seconds = Seconds()) -> str:
        """How a test fails, if it does. Not run by ctest, whose time limits are too short for a busy machine."""
        options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
        with subprocess.Popen(**self.runs[name], **options, preexec_fn=lambda: limit(most)) as process:
            try:
                code = process.wait(most.of_clock)
                return "" if code == 0 else name + BY_TIME_LIMIT if code == -signal.SIGXCPU else name
            except subprocess.TimeoutExpired:
                return name + BY_TIME_LIMIT
            finally:
                if process.returncode is None:
                    end_group(process)


class State:
    """What was tried, in a file that is always whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        known = json.loads(path.read_text()) if path.exists() else {}
        self.seed: str = known.get("seed", "tally")
        self.next: int = known.get("next", 0)
        self.sources: str = known.get("sources", "")
        # Tests that pass these sources without a mistake, and the seconds that they take.
        self.sound = {name: Seconds(*each) for name, each in known.get("sound", {}).items()}
        self.tries: list[dict] = known.get("tries", [])
        self.in_place: dict[str, str] = known.get("in_place", {})

    def keep(self) -> None:
        part = self.path.with_suffix(".partial")
        part.write_text(json.dumps({key: value for key, value in vars(self).items() if key != "path"}, indent=1))
        part.replace(self.path)

    def take_back(self) -> None:
        for file, text in self.in_place.items():
            (ROOT / file).write_text(text)
        self.in_place = {}
        self.keep()


def equivalent_edits() -> set[tuple[str, str]]:
    lines = (ROOT / "tests/long/equivalent_edits.txt").read_text().splitlines()
    return {tuple(line.split("  ", 1)) for line in lines if line.startswith("src/")}


def sources_now() -> str:
    which = ("--", "src", "include", "tests", "cmake", ":!tests/long")
    files = run("git", "-C", ROOT, "ls-files", "-s", *which, check=True).stdout
    changes = run("git", "-C", ROOT, "diff", *which, check=True).stdout
    return hashlib.sha256((files + changes).encode()).hexdigest()


def seconds_now() -> Seconds:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Seconds(time.monotonic(), used.ru_utime + used.ru_stime)


def check_without_mistake(tests: Tests, state: State, name: str) -> None:
    """A test that always fails notices nothing."""
    if name in state.sound:
        return
    compiles = tests.compile([name])
    begin = seconds_now()
    if not compiles or tests.failure(name):
        sys.exit(f"{name} fails without any mistake")
    state.sound[name] = Seconds(*(round(now - before, 1) for before, now in zip(begin, seconds_now())))
    state.keep()


def verdict(tests: Tests, state: State, room: str, quick: bool) -> tuple[str, str]:
    for name in tests.of(room, quick):
        if not tests.compile([name]):
            return "does not compile", ""
        if failure := tests.failure(name, state.sound[name].most() if name in state.sound else Seconds()):
            return "noticed", failure
    return "unnoticed", ""


def try_edit(tests: Tests, state: State, number: int, room: str, edit: Edit, quick: bool) -> dict:
    path = ROOT / edit.file
    text = path.read_text()
    record = {"number": number, "room": room, **edit._asdict(), "line": edit.line(text), "after": edit.line_after(text)}
    if (edit.file, record["after"]) in equivalent_edits():
        return record | {"verdict": "equivalent", "by": "", "seconds": 0}
    begin = time.monotonic()
    try:
        state.in_place = {edit.file: text}
        state.keep()
        path.write_text(edit.of(text))
        found, by = verdict(tests, state, room, quick)
    finally:
        state.take_back()
    if by:
        check_without_mistake(tests, state, by.removesuffix(BY_TIME_LIMIT))
    return record | {"verdict": found, "by": by, "seconds": round(time.monotonic() - begin, 1)}


def show(record: dict) -> None:
    change = " -> ".join(" ".join(record[key].split())[:50] or "nothing" for key in ("old", "new"))
    said = record["by"] or record["verdict"].upper()
    print(f"{record['number']:3}  {said:24} {record['seconds']:5.0f} s  {record['file']}:{record['line']}: {change}", flush=True)


def summary(state: State) -> str:
    known = equivalent_edits()
    lines = []
    for room in (*ROOMS, ""):
        tries = [each for each in state.tries if room in ("", each["room"])]
        equivalent = sum((each["file"], each["after"]) in known for each in tries)
        noticed = sum(each["verdict"] == "noticed" for each in tries)
        missed = sum(each["verdict"] == "unnoticed" and (each["file"], each["after"]) not in known for each in tries)
        share = f"{noticed / (noticed + missed):.0%}" if noticed + missed else "none"
        lines.append(f"{room or 'all':8} {noticed + missed:4} edits, {share} noticed; {equivalent} more are equivalent")
    return "\n".join(lines)


def retry(tests: Tests, state: State, quick: bool) -> None:
    for place, old in enumerate(state.tries):
        edit = Edit(*(old[key] for key in Edit._fields))
        text = (ROOT / edit.file).read_text()
        if old["verdict"] == "unnoticed" and edit.line_after(text) == old["after"]:
            state.tries[place] = try_edit(tests, state, old["number"], old["room"], edit, quick)
            state.keep()
            show(state.tries[place])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="a configured build folder of this checkout")
    parser.add_argument("--state", type=Path, help="default: mutations.json in the build folder")
    parser.add_argument("--edits", type=int, default=20, help="how many that compile")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    build = options.build.resolve()
    state = State(options.state or build / "mutations.json")
    if options.list:
        for record in state.tries:
            if record["verdict"] == "unnoticed" and (record["file"], record["after"]) not in equivalent_edits():
                show(record)
                print(f"     {record['after']}")
    else:
        os.nice(10)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # takes back what is in place
        state.take_back()
        tests = Tests(build)
        now = sources_now()
        if state.sources != now:
            state.sources, state.sound = now, {}
        if options.again:
            retry(tests, state, options.quick)
        done = 0
        while done < options.edits and not options.again:
            number = state.next
            room = ROOMS[number % len(ROOMS)]
            edit = draw(ROOT, room, f"{state.seed}-{number}")
            if any(edit == Edit(*(known[key] for key in Edit._fields)) for known in state.tries):
                state.next += 1
                continue
            for name in tests.of(room, quick=True):
                check_without_mistake(tests, state, name)  # and time it
            record = try_edit(tests, state, number, room, edit, options.quick)
            state.tries.append(record)
            state.next += 1  # only now: a call that ends before has not tried it
            state.keep()
            show(record)
            done += record["verdict"] in ("noticed", "unnoticed")
    print(summary(state))


if __name__ == "__main__":
    main()
