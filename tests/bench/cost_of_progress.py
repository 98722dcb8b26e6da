# SPDX-License-Identifier: Apache-2.0
"""What a run's watchdog and its progress use, each by itself.

Whole runs beside each other differ by some percent on a busy machine, which is more than either costs. The processor
time of the watchdog's thread and the time that the loop spends on keeping progress are measured here as they are.
"""

import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path

from commands import Case, Layout, Tally, environment
from running import ranks_of

WATCHDOG = "tally-watchdog"


def thread_times(pid: int) -> dict[str, float]:
    """Seconds of processor time of a process's threads that are alive, by name."""
    found: dict[str, float] = {}
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            name = (task / "comm").read_text().strip()
            found[name] = found.get(name, 0.0) + int((task / "schedstat").read_text().split()[0]) * 1e-9
    return found


def watchdog_share(command: list[object], program: Path) -> float:
    """Of a run on several ranks: processor time of the watchdogs' threads / that of all threads."""
    process = subprocess.Popen(list(map(str, command)), env=environment(), stdout=subprocess.DEVNULL)
    last: dict[int, dict[str, float]] = {}
    while process.poll() is None:
        for pid in ranks_of(process, program):
            if WATCHDOG in (times := thread_times(pid)):  # which has ended while a rank leaves MPI
                last[pid] = times
        time.sleep(0.05)
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {process.returncode}")
    watchdogs = sum(times[WATCHDOG] for times in last.values())
    return watchdogs / sum(sum(times.values()) for times in last.values())


def seconds_to_keep(trace: Path) -> list[float]:
    """How long the loops stood still while they kept their progress, each time that one did."""
    events = json.loads(trace.read_text())["traceEvents"]
    return [event["dur"] * 1e-6 for event in events if event.get("name") == "keep_progress"]


def cost_of_progress(tally: Tally, case: Case, layout: Layout) -> dict[str, float]:
    trace = tally.folder / "trace.json"
    options = ["--progress", "off", "--overwrite", "--trace", trace, "--output", tally.folder / "tally"]
    share = watchdog_share([*tally.command(case, layout), *options, "--checkpoint-every", 0.1], tally.program)
    kept = seconds_to_keep(trace)
    return {"watchdog": share, "keep_s": sum(kept) / len(kept) if kept else float("nan")}
