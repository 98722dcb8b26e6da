# SPDX-License-Identifier: Apache-2.0
"""--trace: one file that viewers take, of every rank, that agrees with the report and changes no result."""

import json
import os
import subprocess
from collections import defaultdict
from pathlib import Path

import odd_models
import pytest
import small
from conftest import Evaluate, Small
from launch import Program

BATCH = 8
# What docs/profiling.md names.
PHASES = {
    "launch", "settings", "open_data", "load_model", "warm_up", "start_reducer", "create_output", "evaluate",
    "wait_for_ranks", "reduce", "count_again", "gather", "report",
}  # fmt: skip
LOOP = {"wait_for_data", "prepare", "forward", "metrics", "wait_for_device", "records", "progress"}
COLLECTIVES = {"agree", "broadcast", "all_reduce", "all_gather", "gather", "barrier", "reduce", "gather_in_order"}
TRACKS = {0: "main", 1: "reader"}


def traced(evaluate: Evaluate, case: Small, file: Path, ranks: int | None = None) -> tuple[dict, dict]:
    """The report and the trace of a run, its processes and threads counted from 0."""
    result = evaluate(case.model, case.data, "--batch-size", BATCH, "--device", "cpu", "--trace", file, ranks=ranks)
    trace = json.loads(file.read_text())
    for event in trace["traceEvents"]:  # viewers take 0 for the kernel's
        event["pid"] -= 1
        event["tid"] -= 1
    return result.report, trace


def spans(trace: dict) -> list[dict]:
    return [event for event in trace["traceEvents"] if event["ph"] == "X"]


def by_track(trace: dict) -> dict[tuple[int, int], list[dict]]:
    tracks = defaultdict(list)
    for span in spans(trace):
        tracks[span["pid"], span["tid"]].append(span)
    return tracks


def names_of(trace: dict, rank: int, kind: str) -> set[str]:
    return {span["name"] for span in spans(trace) if span["pid"] == rank and span["cat"] == kind}


def seconds_of(trace: dict, rank: int, kind: str, name: str) -> float:
    return sum(span["dur"] for span in spans(trace) if (span["pid"], span["cat"], span["name"]) == (rank, kind, name)) / 1e6


def assert_nested(track: list[dict]) -> None:
    """Each span lies in the one that is open when it begins, or begins after it."""
    open_until = []
    for span in sorted(track, key=lambda span: (span["ts"], -span["dur"])):
        begin, end = span["ts"], span["ts"] + span["dur"]
        while open_until and open_until[-1] <= begin + 1e-3:
            open_until.pop()
        assert not open_until or end <= open_until[-1] + 1e-3, span  # times are rounded to 1e-3 µs
        open_until.append(end)


@pytest.mark.parametrize("ranks", [None, 2, 3, 5])
def test_every_rank_is_there_and_its_spans_nest(
    ranks: int | None, evaluate: Evaluate, small_case: Small, tmp_path: Path
) -> None:
    report, trace = traced(evaluate, small_case, tmp_path / "trace.json", ranks)
    events = trace["traceEvents"]
    world = range(ranks or 1)
    for event in events:
        assert event["ph"] in ("X", "M")
        assert event["pid"] in world
        if event["ph"] == "X":
            assert event["ts"] >= 0 and event["dur"] >= 0 and event["name"] and event["cat"]
    labels = {(e["name"], e["pid"], e["tid"]): e["args"] for e in events if e["ph"] == "M"}
    for rank in world:
        host = report["ranks"][rank]["host"]
        assert labels["process_name", rank, 0]["name"] == f"rank {rank} on {host}"
        for track, name in TRACKS.items():
            assert labels["thread_name", rank, track]["name"] == name
        assert names_of(trace, rank, "phase") >= PHASES
        assert names_of(trace, rank, "loop") == LOOP
        assert names_of(trace, rank, "data") == {"read", "wait_for_slot"}
        assert names_of(trace, rank, "collective") >= COLLECTIVES
        assert {"build_model", "warm_up_batch"} <= names_of(trace, rank, "step")
    assert {"write_predictions", "write_metrics"} <= names_of(trace, 0, "step")
    assert set(by_track(trace)) == {(rank, track) for rank in world for track in TRACKS}
    for track in by_track(trace).values():
        assert_nested(track)
    facts = trace["otherData"]
    assert (facts["ranks"], facts["events"], facts["dropped_events"]) == (len(world), len(spans(trace)), 0)


@pytest.mark.parametrize("ranks", [None, 3])
def test_it_agrees_with_the_report(ranks: int | None, evaluate: Evaluate, small_case: Small, tmp_path: Path) -> None:
    report, trace = traced(evaluate, small_case, tmp_path / "trace.json", ranks)
    world = len(report["ranks"])
    for name in PHASES - {"report"}:
        times = report["timing"]["phases"][f"{name}_s"]
        seconds = [seconds_of(trace, rank, "phase", name) for rank in range(world)]
        assert min(seconds) == pytest.approx(times["min"], abs=1e-6)
        assert max(seconds) == pytest.approx(times["max"], abs=1e-6)
    batches = defaultdict(list)
    for span in spans(trace):
        if span["cat"] == "loop" and "batch" in span["args"]:
            batches[span["name"]].append((span["args"]["batch"], span["args"]["samples"]))
    expected = [(k, min(BATCH, small.NUM_SAMPLES - k * BATCH)) for k in range(report["plan"]["batches"])]
    assert set(batches) == LOOP
    for name, found in batches.items():
        assert sorted(found) == expected, name
    for rank, figures in enumerate(report["ranks"]):
        parts = ("prepare", "forward", "metrics", "records", "wait_for_device")
        computed = sum(seconds_of(trace, rank, "loop", name) for name in parts)
        assert computed == pytest.approx(figures["compute_s"], abs=1e-5)
        assert seconds_of(trace, rank, "data", "read") == pytest.approx(figures["read_s"], abs=1e-5)
        assert seconds_of(trace, rank, "loop", "wait_for_data") == pytest.approx(figures["wait_s"], abs=1e-5)


def test_nothing_else_changes(evaluate: Evaluate, small_case: Small, tmp_path: Path) -> None:
    plain = evaluate(small_case.model, small_case.data, "--batch-size", BATCH)
    with_trace = evaluate(
        small_case.model, small_case.data, "--batch-size", BATCH, "--trace", tmp_path / "trace.json", ranks=2
    )
    assert f"\nTrace     {tmp_path / 'trace.json'}\n" in with_trace.run.stdout
    assert "\nTrace " not in plain.run.stdout
    assert with_trace.digests == plain.digests
    assert with_trace.report["digests"]["class"] == plain.report["digests"]["class"]
    assert {path.name for path in plain.folder.iterdir()} == {path.name for path in with_trace.folder.iterdir()}


def test_it_may_lie_in_the_folder_of_the_result(tally: Program, small_case: Small, tmp_path: Path) -> None:
    output = tmp_path / "new" / "run"
    command = ["evaluate", "--model", small_case.model, "--data", small_case.data, "--output", output,
               "--trace", output / "trace.json"]  # fmt: skip
    tally(*command).must_succeed()
    first = (output / "trace.json").read_bytes()
    tally(*command, "--overwrite").must_succeed()
    assert (output / "trace.json").read_bytes() != first
    assert not [path for path in output.iterdir() if "partial" in path.name]


@pytest.mark.parametrize("ranks", [None, 3])
@pytest.mark.parametrize(
    ("file", "why"),
    [("none/trace.json", "folder does not exist"), ("data.h5", "is no trace"), ("old.json", "is there already"),
     ("run/report.json", "another file of the result"), ("folder", "is a folder"),
     ("pipe", "is no regular file"), ("run", "is the output folder"), ("run/../run/", "is a folder"),
     ("new", "one above it")],
)  # fmt: skip
def test_a_file_that_cannot_be_written_is_refused_before_the_run(
    file: str, why: str, ranks: int | None, tally: Program, small_case: Small, tmp_path: Path
) -> None:
    (tmp_path / "data.h5").write_bytes(b"precious")
    (tmp_path / "old.json").write_text('{"traceEvents":[\n]}')
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    before = sorted(tmp_path.iterdir())
    overwrite = [] if file == "old.json" else ["--overwrite"]
    run = tally("evaluate", "--model", small_case.model, "--data", small_case.data, "--output",
                tmp_path / ("new/run" if file == "new" else "run"), "--trace", f"{tmp_path}/{file}", *overwrite, ranks=ranks)  # fmt: skip
    run.must_fail(6, file, why)
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "data.h5").read_bytes() == b"precious"


def test_a_failing_run_leaves_none(tally: Program, small_case: Small, tmp_path: Path) -> None:
    model = small.save_model(odd_models.Raising(), tmp_path / "raises.pt")
    data = small_case.samples.with_bright_sample(60).write(tmp_path / "bright.h5")
    for ranks in (None, 3):
        run = tally("evaluate", "--model", model, "--data", data, "--batch-size", BATCH, "--progress", "off",
                    "--output", tmp_path / "run", "--trace", tmp_path / "trace.json", ranks=ranks)  # fmt: skip
        assert run.code == 4, run.stderr
        assert sorted(path.name for path in tmp_path.iterdir()) == ["bright.h5", "raises.pt", "run.error.json"]


# A shell that may mount: in a namespace of its own, as root there.
MOUNT_SHELL = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
MOUNTS = subprocess.run([*MOUNT_SHELL, "mount -t tmpfs disk /mnt"], capture_output=True).returncode == 0
ON_A_SMALL_DISK = """
mount -t tmpfs -o size=$1k disk "$0" || exit 99
shift
"$@"
code=$?
echo "left: $(ls -A "$0")" >&2
exit $code
"""


@pytest.mark.skipif(not MOUNTS, reason="no disk of its own size can be mounted here")
@pytest.mark.parametrize("ranks", [None, 3])
@pytest.mark.parametrize("size_kib", [4, 68])
def test_a_full_disk_costs_the_trace_and_not_the_result(
    size_kib: int, ranks: int | None, tally: Program, small_case: Small, tmp_path: Path
) -> None:
    # The end comes while the spans are gathered, the windows of one piece each.
    disk, output = tmp_path / "disk", tmp_path / "run"
    disk.mkdir()
    command = tally.command("evaluate", "--model", small_case.model, "--data", small_case.data, "--batch-size", 1,
                            "--output", output, "--trace", disk / "trace.json", "--gather-window", "64KiB",
                            ranks=ranks)  # fmt: skip
    run = tally.run_command([*MOUNT_SHELL, ON_A_SMALL_DISK, str(disk), str(size_kib), *command])
    run.must_succeed()
    notes = [note for note in json.loads((output / "report.json").read_text())["notes"] if "trace" in note]
    assert len(notes) == 1 and "there is no trace: " in notes[0] and "No space left" in notes[0]
    assert notes[0] in run.stderr
    assert "left: " in run.stderr.splitlines(), "nothing may be left on the disk"
    assert {path.name for path in output.iterdir()} >= {"report.json", "metrics.h5", "events.jsonl"}
