# SPDX-License-Identifier: Apache-2.0
"""What the program itself writes, and the data sets that it reads, for make_corpus.py."""

import json
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import small
import torch
from launch import Program
from running import wait_until
from schema_examples import write_schema_examples
from slow_cases import Slowly

Put = Callable[[str, str, bytes | str | Path], None]


def write_data_sets(scratch: Path, put: Put) -> Path:
    data = small.make_set(9).write(scratch / "small.h5")
    put("data_set", "images", data)
    examples = scratch / "examples"
    examples.mkdir()
    for path in write_schema_examples(examples):
        if path.suffix == ".h5" and path.stat().st_size < 30_000:
            put("data_set", path.stem, path)
    return data


def without_machine(path: Path, scratch: Path) -> str:
    """The program is the one of this folder, which may be anywhere."""
    own = str(Path(__file__).resolve().parents[2])
    return path.read_text().replace(own, "/opt").replace(str(scratch), "/data").replace(socket.gethostname(), "node1")


def write_results(program: Program, data: Path, scratch: Path, put: Put) -> None:
    model = small.save_model(small.TinyNet(), scratch / "m.pt", json.dumps(small.card()))
    output = scratch / "result"
    program("evaluate", "--model", model, "--data", data, "--output", output, "--save", "labels,topk,logits").must_succeed()
    put("report", "report.json", without_machine(output / "report.json", scratch))
    put("report", "refused-events", without_machine(output / "events.jsonl", scratch))
    put("predictions", "labels_and_logits", output / "predictions.h5")
    put("metrics_file", "metrics", output / "metrics.h5")
    checkpoints = scratch / "checkpoints"
    checkpoints.mkdir()
    for step in (1, 2):
        torch.save(small.TinyNet(seed=step).state_dict(), checkpoints / f"step-{step}.pth")
    (checkpoints / "step-0.pth").write_bytes(b"no checkpoint")
    watched = scratch / "watched"
    program("watch", "--checkpoints", checkpoints, "--model", model, "--data", data, "--output", watched,
            "--poll", 0.05, "--stop-after", 2)  # fmt: skip
    put("leaderboard", "three.jsonl", without_machine(watched / "leaderboard.jsonl", scratch))


def write_progress(program: Program, data: Path, scratch: Path, put: Put) -> None:
    """Of a run that was asked to stop after some batches."""
    model = small.save_model(Slowly(small.TinyNet(), 3000), scratch / "slow.pt", json.dumps(small.card()))
    folder = scratch / "stopped"
    process = program.start(program.command("evaluate", "--model", model, "--data", data, "--output", folder,
                                            "--batch-size", 1, "--checkpoint-every", 0.0001))  # fmt: skip
    wait_until(lambda: any(folder.glob("progress/*.state")), process, 60)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    content = next(folder.glob("progress/*.state")).read_bytes()[:-64]
    line, _, rest = content.partition(b"\n")
    header = json.loads(line)
    identity = rest[: header["identity_bytes"]].decode()
    observations = rest[header["identity_bytes"] :][: header["observations_bytes"]].decode()
    put("run_facts", "facts.json", identity)
    put("loop_observations", "observations.json", observations)
    header |= {"records_bytes": 0}
    put("progress_state", "stopped", json.dumps(header, separators=(",", ":")).encode() + b"\n" + rest)
    short = {"identity_bytes": 2, "observations_bytes": 3, "state_length": 2}
    put("progress_state", "short", json.dumps(header | short).encode() + b"\nidobs" + bytes(16))


def write(scratch: Path, build: Path, put: Put) -> None:
    program = Program(build / "tally", "mpirun")
    data = write_data_sets(scratch, put)
    write_results(program, data, scratch, put)
    write_progress(program, data, scratch, put)
