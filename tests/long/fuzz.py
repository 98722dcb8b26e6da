#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives every parser mutants of its corpus (tests/fuzz), until each had as many as asked for.

    python tests/long/fuzz.py --state build/fuzz.json --seconds 600 --per-parser 20000

What was done is kept in the state file, and the next call goes on from there. The parsers take turns, so that a short call
reaches all. Mutants are numbered: the same number is the same mutant. With --libfuzzer BUILD, a build of the preset `fuzz`,
libFuzzer makes as many others beside them, by what they reach in the code, and sanitizers look on; what it learns is kept
beside the state file. A finding is a crash, an exception that is no refusal, more than 10 s, more than 1 GiB above what the
corpus takes, or what a sanitizer says; its bytes are kept in a folder beside the state file. The exit code is 1 as long as
there are any: a mended one is removed from the state file by hand, when its bytes are in the corpus.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
BATCH_S = 5.0
LEAST_BATCH = 500
LOADING_S = 1.5  # of a program, which is not to be counted to its mutants
LIMIT_S = 10
MORE_MEMORY_MIB = 1024
BATCH_LIMIT_S = 600


class State:
    """What was done, in a file that is always whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        known = json.loads(path.read_text()) if path.exists() else {}
        self.mutants: dict[str, int] = known.get("mutants", {})
        self.libfuzzer: dict[str, int] = known.get("libfuzzer", {})
        self.findings: list[str] = known.get("findings", [])

    def keep(self) -> None:
        part = self.path.with_suffix(".partial")
        kept = {"mutants": self.mutants, "libfuzzer": self.libfuzzer, "findings": self.findings}
        part.write_text(json.dumps(kept, indent=1) + "\n")
        part.replace(self.path)

    def text(self) -> str:
        rows = [f"  {parser:<22}{self.mutants.get(parser, 0):>8}{self.libfuzzer.get(parser, 0):>10}"
                for parser in sorted({*self.mutants, *self.libfuzzer})]  # fmt: skip
        head = f"{sum(self.mutants.values())} mutants, {sum(self.libfuzzer.values())} by libFuzzer"
        return "\n".join([f"{head}, {len(self.findings)} findings", *rows, *self.findings])


def programs_of(build: Path) -> dict[str, Path]:
    """By parser. The canary has mistakes on purpose."""
    found = {path.name.removesuffix("_fuzzer"): path for path in sorted((build / "tests" / "fuzz").glob("*_fuzzer"))}
    return {parser: path for parser, path in found.items() if parser != "canary"}


class SeededMutants:
    """tests/fuzz/seeded_mutants.cpp"""

    def __init__(self, build: Path, corpus: Path, state: State) -> None:
        self.programs, self.corpus, self.done = programs_of(build), corpus, state.mutants
        self.findings = state.path.with_suffix("") / "findings"

    def run(self, parser: str, count: int) -> tuple[int, list[str]]:
        first = self.done.get(parser, 0)
        words = [self.programs[parser], self.corpus / parser, str(first), str(count), self.findings,
                 str(LIMIT_S), str(MORE_MEMORY_MIB)]  # fmt: skip
        run = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=BATCH_LIMIT_S)
        found = [f"{parser}: {what}" for what in re.findall(r"^finding: (.*)", run.stderr, re.MULTILINE)]
        if run.returncode != 0 and not found:
            found = [f"{parser}: exit code {run.returncode}: {run.stderr[-500:]}"]
        return count, found


class LibFuzzer:
    """Clang's, in a folder of its own, where inputs that reach something new are kept."""

    def __init__(self, build: Path, corpus: Path, state: State) -> None:
        self.programs, self.corpus, self.done = programs_of(build), corpus, state.libfuzzer
        self.folder = state.path.with_suffix("")
        self.most_memory: dict[str, int] = {}  # MiB

    def run(self, parser: str, count: int) -> tuple[int, list[str]]:
        if parser not in self.most_memory:
            _, peak, found = self.start(parser, 0, "-rss_limit_mb=0")
            if found:
                return count, found
            self.most_memory[parser] = peak + MORE_MEMORY_MIB
        executed, _, found = self.start(parser, count, f"-rss_limit_mb={self.most_memory[parser]}")
        return max(executed, 1), found

    def start(self, parser: str, count: int, *options: str) -> tuple[int, int, list[str]]:
        """How many inputs it made, its peak of memory in MiB, and what was found."""
        learned, findings = self.folder / "learned" / parser, self.folder / "findings"
        for folder in (learned, findings):
            folder.mkdir(parents=True, exist_ok=True)
        known = len(list(learned.iterdir())) + len(list((self.corpus / parser).iterdir()))
        words = [self.programs[parser], f"-runs={known + count if count else 0}", f"-seed={self.done.get(parser, 0) + 1}",
                 f"-timeout={LIMIT_S}", f"-malloc_limit_mb={MORE_MEMORY_MIB}", f"-artifact_prefix={findings}/{parser}-",
                 "-print_final_stats=1", *options, learned, self.corpus / parser]  # fmt: skip
        with tempfile.TemporaryDirectory() as scratch:
            # HDF5 itself leaks where it fails, and UBSan says all that it knows.
            settings = {"ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=16", "UBSAN_OPTIONS": "print_stacktrace=1"}
            run = subprocess.run(words, capture_output=True, text=True, errors="replace", cwd=scratch,
                                 env=os.environ | settings, timeout=BATCH_LIMIT_S)  # fmt: skip
        stats = dict(re.findall(r"^stat::(\w+):\s+(\d+)", run.stderr, re.MULTILINE))
        executed = max(int(stats.get("number_of_executed_units", 0)) - known, 0)
        if run.returncode == 0:
            return executed, int(stats["peak_rss_mb"]), []
        said = re.findall(r"^(?:fuzz: .*|.*(?:ERROR|SUMMARY|runtime error|Test unit written to|what\(\)).*)", run.stderr, re.MULTILINE)
        return executed, 0, [f"{parser}: libFuzzer: {'; '.join(said)[:800] or run.stderr[-500:]}"]


def take_turns(engines: list[SeededMutants | LibFuzzer], state: State, per_parser: int, deadline: float) -> None:
    """The parser that had fewest mutants is next; a batch takes some seconds."""
    speed: dict[tuple[int, str], float] = {}
    while time.monotonic() < deadline:
        left = [(engine.done.get(parser, 0), number, parser) for number, engine in enumerate(engines)
                for parser in engine.programs if engine.done.get(parser, 0) < per_parser]  # fmt: skip
        if not left:
            return
        done, number, parser = min(left)
        seconds = min(BATCH_S, max(deadline - time.monotonic(), 0.1))
        count = round(seconds * speed[number, parser]) if (number, parser) in speed else LEAST_BATCH
        count = min(max(count, LEAST_BATCH), per_parser - done)
        begin = time.monotonic()
        made, found = engines[number].run(parser, count)
        speed[number, parser] = made / max(time.monotonic() - begin - LOADING_S, 0.1)
        engines[number].done[parser] = done + made
        state.findings += found
        state.keep()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=TESTS.parent / "build")
    parser.add_argument("--libfuzzer", type=Path, help="a build of the preset fuzz")
    parser.add_argument("--corpus", type=Path, default=TESTS / "fuzz" / "corpus")
    parser.add_argument("--state", type=Path, default=TESTS.parent / "build" / "fuzz.json")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--per-parser", type=int, default=20000)
    options = parser.parse_args()
    options.state = options.state.resolve()
    options.state.parent.mkdir(parents=True, exist_ok=True)
    state, corpus = State(options.state), options.corpus.resolve()
    engines: list[SeededMutants | LibFuzzer] = [SeededMutants(options.build.resolve(), corpus, state)]
    if options.libfuzzer:
        engines.append(LibFuzzer(options.libfuzzer.resolve(), corpus, state))
    if not all(engine.programs for engine in engines):
        sys.exit("fuzz.py: no fuzz tests in the build; build it with its tests first")
    take_turns(engines, state, options.per_parser, time.monotonic() + options.seconds)
    print(state.text())
    return 1 if state.findings else 0


if __name__ == "__main__":
    sys.exit(main())
