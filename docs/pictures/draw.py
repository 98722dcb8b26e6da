#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of docs/architecture.md: rooms.svg from src/rooms.txt, batch.svg from batch.dot.

Usage: docs/pictures/draw.py        (needs graphviz's dot)
"""

import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOMS = HERE.parents[1] / "src" / "rooms.txt"
# From the top floor to the lowest one.
BANDS = {
    "commands": ["cli", "inspect", "watch_command"],
    "a run": ["publish", "setup", "score_sources", "aggregate", "session", "result_folder"],
    "the loop and results": ["evaluate", "distributed_metrics", "watchdog", "compare", "report", "watch"],
    "what is evaluated": [
        "tasks", "metrics", "diagnosis", "ordered_metrics", "model", "graph_optimizer", "weights", "data", "preprocess",
        "predictions", "resume", "comm",
    ],
    "foundation": ["exact", "device", "libtorch", "openvino", "hdf5", "trace", "plan", "digest", "config", "base"],
}
COLOURS = dict(zip(BANDS, ["#f6d5d5", "#fbe3d0", "#fdf3c9", "#dcebd9", "#d8e5f2"], strict=True))


def allowed() -> dict[str, list[str]]:
    text = ROOMS.read_text().split("[rooms]")[1].split("[vendors]")[0]
    lines = [line.split(":") for line in text.splitlines() if ":" in line and not line.startswith("#")]
    return {room: used.split() for room, used in lines}


def reached(room: str, table: dict[str, list[str]]) -> set[str]:
    return {one for used in table[room] for one in {used} | reached(used, table)}


def arrows(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    """Those that no longer way replaces."""
    return [(room, used) for room in table for used in table[room]
            if not any(used in reached(other, table) for other in table[room])]  # fmt: skip


def rooms_as_dot() -> str:
    table = allowed()
    unknown = table.keys() ^ {room for band in BANDS.values() for room in band}
    if unknown:
        raise SystemExit(f"BANDS and {ROOMS.name} differ: {', '.join(sorted(unknown))}")
    lines = ['digraph rooms {', '  rankdir=TB; ranksep=0.5; nodesep=0.25; bgcolor=white;',
             '  node [shape=box, style="filled,rounded", fontname="Helvetica", fontsize=12, color="#666666"];',
             '  edge [color="#888888", arrowsize=0.6];']  # fmt: skip
    for band, rooms in BANDS.items():
        lines += [f'  {room} [fillcolor="{COLOURS[band]}"];' for room in rooms]
    lines += [f"  {room} -> {used};" for room, used in arrows(table)]
    return "\n".join([*lines, "}", ""])


def draw(dot: str, name: str) -> None:
    svg = subprocess.run(["dot", "-Tsvg"], input=dot, capture_output=True, text=True, check=True).stdout
    (HERE / f"{name}.svg").write_text(svg)


if __name__ == "__main__":
    draw(rooms_as_dot(), "rooms")
    draw((HERE / "batch.dot").read_text(), "batch")
