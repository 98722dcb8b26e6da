#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over our sources: only over what changed since it last passed, and within a time budget.

A file passes once for its content, the content of our headers it includes, its compile command,
.clang-tidy and clang-tidy's version; the passes are remembered as empty files named by that hash.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tally" / "tidy"
KEEP_DAYS = 30
NOISE = re.compile(r"^\d+ warnings?( and \d+ errors?)? generated\.$|^Suppressed |^Use -header-filter")


def output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def bodies_of(entry: dict) -> list[dict]:
    """Of a command that compiles several bodies at a time: one for each. They have the object in common."""
    if not re.search(r"/Unity/unity_\d+_cxx\.cxx$", entry["file"]):
        return [entry]
    bodies = re.findall(r'^#include "(.*)"$', Path(entry["file"]).read_text(), re.MULTILINE)
    return [{**entry, "file": body, "command": entry["command"].replace(entry["file"], body)} for body in bodies]


def commands_for_clang(build: Path) -> list[dict]:
    """The compile commands as if each file were compiled alone and included what it needs itself, which is thereby
    checked too: clang cannot read what another compiler precompiled, and knows fewer warnings. Kernels are left out: this
    clang knows no CUDA of today, and their arithmetic stands in headers that the other files include."""
    commands = json.loads((build / "compile_commands.json").read_text())
    database = [body for entry in commands if not entry["file"].endswith(".cu") for body in bodies_of(entry)]
    for entry in database:
        entry["command"] = re.sub(r"(-Winvalid-pch )?-include \S*/cmake_pch\.hxx |-Wno-subobject-linkage ", "",
                                  entry["command"])
    (build / "tidy").mkdir(exist_ok=True)
    (build / "tidy" / "compile_commands.json").write_text(json.dumps(database))
    return database


def included_files(build: Path) -> dict[str, list[str]]:
    """By object file: what its last build included."""
    deps: dict[str, list[str]] = {}
    for line in output_of("ninja", "-C", str(build), "-t", "deps").splitlines():
        if line.startswith("    "):
            deps[target].append(line.strip())
        elif line:
            target = line.split(":")[0]
            deps[target] = []
    return deps


def pass_mark(build: Path, entry: dict, deps: dict[str, list[str]], settings: bytes) -> Path:
    command = entry["command"].split()
    target = command[command.index("-o") + 1]
    named = [name for name in deps.get(target, []) if not name.endswith((".cpp", ".cxx"))]  # compiled with it
    included = {(build / name).resolve() for name in [*named, entry["file"]]}
    digest = hashlib.sha256(settings)
    digest.update(entry["command"].replace(str(build), "<build>").replace(str(ROOT), "<root>").encode())
    for path in sorted(included):
        if path.is_relative_to(ROOT) or path.is_relative_to(build):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return CACHE / digest.hexdigest()


def in_order_of_need(entries: list[dict]) -> list[dict]:
    """Files changed by the newest commit or not yet committed first, the rest in another order per commit,
    so that where nothing is remembered and time is short each file gets its turn."""
    changed = set(output_of("git", "diff", "--name-only", "HEAD~1").split()) if has_parent() else set()
    commit = output_of("git", "rev-parse", "HEAD") if has_parent() else ""

    def rank(entry: dict) -> tuple[bool, str]:
        name = str(Path(entry["file"]).relative_to(ROOT))
        return name not in changed, hashlib.sha256((commit + name).encode()).hexdigest()

    return sorted(entries, key=rank)


def has_parent() -> bool:
    command = ["git", "rev-parse", "--verify", "--quiet", "HEAD~1"]
    return subprocess.run(command, capture_output=True, check=False, cwd=ROOT).returncode == 0


def check(tool: str, build: Path, entry: dict, deadline: float) -> str | None:
    """What clang-tidy objects to, empty if nothing; None when there was no time left to start."""
    if time.monotonic() > deadline:
        return None
    result = subprocess.run([tool, "-p", str(build / "tidy"), "--quiet", entry["file"]],
                            capture_output=True, text=True, check=False)
    text = [line for line in (result.stdout + result.stderr).splitlines() if not NOISE.match(line)]
    return "\n".join(text) or "clang-tidy failed without a message" if result.returncode else ""


def forget_old_passes() -> None:
    for mark in CACHE.iterdir():
        if time.time() - mark.stat().st_mtime > KEEP_DAYS * 86400:
            mark.unlink(missing_ok=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="a built folder")
    parser.add_argument("--budget", type=float, default=240, help="start no further file after so many seconds")
    parser.add_argument("--tool", default="clang-tidy-14")
    options = parser.parse_args()
    build = options.build.resolve()
    CACHE.mkdir(parents=True, exist_ok=True)
    forget_old_passes()

    database = commands_for_clang(build)
    settings = output_of(options.tool, "--version").encode() + (ROOT / ".clang-tidy").read_bytes()
    deps = included_files(build)
    marks = {entry["file"]: pass_mark(build, entry, deps, settings) for entry in database
             if Path(entry["file"]).is_relative_to(ROOT / "src")}
    once = {entry["file"]: entry for entry in database}  # the test of twins without CUDA compiles some files again
    due = [entry for file, entry in once.items() if file in marks and not marks[file].exists()]
    for mark in marks.values():
        if mark.exists():
            mark.touch()  # still in use

    deadline = time.monotonic() + options.budget
    bad = postponed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {pool.submit(check, options.tool, build, entry, deadline): entry for entry in in_order_of_need(due)}
        for job in concurrent.futures.as_completed(jobs):
            complaint = job.result()
            if complaint is None:
                postponed += 1
            elif complaint:
                bad += 1
                print(complaint, flush=True)
            else:
                marks[jobs[job]["file"]].touch()
    print(f"clang-tidy: {len(marks)} files, {len(marks) - len(due)} passed before, "
          f"{len(due) - bad - postponed} passed now, {bad} failed, {postponed} put off for lack of time")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
