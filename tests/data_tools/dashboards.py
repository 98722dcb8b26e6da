# SPDX-License-Identifier: Apache-2.0
"""What stands in the stores of TensorBoard, W&B and MLflow, read by their own readers where they have one."""

import json
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

Scalars = list[tuple[int, float]]


class Dashboard(Protocol):
    """`folder` is where the publisher runs and writes."""

    options: list[object]

    def names(self) -> set[str]: ...
    def scalars(self, name: str) -> Scalars: ...
    def pictures(self, name: str) -> list[int]: ...
    def texts(self, name: str) -> list[tuple[int, str]]: ...
    def settings(self) -> dict[str, str]: ...
    def runs(self) -> list[str]: ...
    def everything(self) -> object: ...


class TensorBoardFiles:
    """All is sorted: of event files that were begun in one second the order is open."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "runs"
        self.options = ["--to", "tensorboard", "--tensorboard-dir", self.folder]

    def runs(self) -> list[str]:
        return [path.name for path in self.folder.iterdir()]

    def _read(self) -> object:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        everything = {"images": 0, "scalars": 0, "tensors": 0}
        accumulator = EventAccumulator(str(self.folder / self.runs()[0]), everything)
        accumulator.Reload()
        return accumulator

    def names(self) -> set[str]:
        return set(self._read().Tags()["scalars"])

    def scalars(self, name: str) -> Scalars:
        return sorted((event.step, event.value) for event in self._read().Scalars(name))

    def pictures(self, name: str) -> list[int]:
        events = self._read().Images(name)
        assert all(event.encoded_image_string.startswith(b"\x89PNG") for event in events)
        return sorted(event.step for event in events)

    def texts(self, name: str) -> list[tuple[int, str]]:
        events = self._read().Tensors(f"{name}/text_summary")
        return sorted((event.step, event.tensor_proto.string_val[0].decode()) for event in events)

    def settings(self) -> dict[str, str]:
        ((_, table),) = self.texts("configuration")
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
        return {name: value for name, value in rows}

    def everything(self) -> object:
        return {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}


class MLflowFolder:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "mlruns"
        self.options = ["--to", "mlflow", "--mlflow-uri", self.folder]

    def _client(self) -> object:
        os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
        from mlflow import MlflowClient

        return MlflowClient(self.folder.as_uri())

    def runs(self) -> list[str]:
        client = self._client()
        experiment = client.get_experiment_by_name("tally")
        found = client.search_runs([experiment.experiment_id])
        assert all(run.info.status == "FINISHED" for run in found)
        return [run.info.run_id for run in found]

    def _latest(self) -> str:
        return self.runs()[0]

    def names(self) -> set[str]:
        return set(self._client().get_run(self._latest()).data.metrics)

    def scalars(self, name: str) -> Scalars:
        history = self._client().get_metric_history(self._latest(), name)
        return [(metric.step, metric.value) for metric in history]

    def pictures(self, name: str) -> list[int]:
        files = [file.path for file in self._client().list_artifacts(self._latest(), "images")]
        names = [path.split("/")[1].split("+") for path in files if path.endswith(".png")]
        return sorted(int(parts[2]) for parts in names if parts[0] == name)

    def texts(self, name: str) -> list[tuple[int, str]]:
        tags = self._client().get_run(self._latest()).data.tags
        return sorted((int(key.split(".")[1]), text) for key, text in tags.items() if key.startswith(f"{name}."))

    def settings(self) -> dict[str, str]:
        return self._client().get_run(self._latest()).data.params

    def everything(self) -> object:
        return {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}


def wandb_records(path: Path) -> Iterator[object]:
    """Of a .wandb file: LevelDB's log of blocks of 32 KiB, behind seven bytes of its own.

    W&B's own reader is no longer in its Python package.
    """
    from wandb.proto.wandb_internal_pb2 import Record

    content, place, record = path.read_bytes(), 7, b""
    assert content.startswith(b":W&B")
    while place + 7 <= len(content):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        size, kind = struct.unpack_from("<HB", content, place + 4)  # behind a checksum
        record += content[place + 7 : place + 7 + size]
        place += 7 + size
        if kind in (1, 4):  # whole, or the last part
            yield Record.FromString(record)
            record = b""


class WandbFiles:
    def __init__(self, folder: Path) -> None:
        import wandb

        wandb.teardown()  # in one process it would keep to the folder of its first run
        self.folder = folder / "wandb"
        self.options = ["--to", "wandb", "--wandb-mode", "offline"]

    def _files(self) -> list[Path]:
        """In the order in which `wandb sync` sends them; W&B's own process writes them, until it is ended."""
        import wandb

        wandb.teardown()
        return sorted(self.folder.glob("offline-run-*/run-*.wandb"), key=lambda path: path.stat().st_mtime_ns)

    def runs(self) -> list[str]:
        return sorted({path.stem for path in self._files()})

    def _records(self, kind: str) -> list[object]:
        latest = max(self._files(), key=lambda path: path.stat().st_mtime_ns).name
        files = [path for path in self._files() if path.name == latest]
        records = [record for path in files for record in wandb_records(path)]
        return [getattr(record, kind) for record in records if record.WhichOneof("record_type") == kind]

    def _rows(self) -> list[dict]:
        rows = []
        for history in self._records("history"):
            row: dict = {}
            for item in history.item:
                *parents, name = item.nested_key or [item.key]
                inner = row.setdefault(parents[0], {}) if parents else row
                inner[name] = json.loads(item.value_json)
            rows.append(row)
        own_steps = [row["_step"] for row in rows]
        assert own_steps == list(range(len(rows)))  # W&B drops what comes out of order
        return rows

    def _column(self, name: str, kind: object) -> list[tuple[int, object]]:
        axis = "running/samples" if name.startswith("running/") else "checkpoint_step"
        rows = [row for row in self._rows() if isinstance(row.get(name), kind)]
        return [(row[axis], row[name]) for row in rows]

    def names(self) -> set[str]:
        axes = {"running/samples", "checkpoint_step"}
        return {
            name for row in self._rows() for name, value in row.items()
            if isinstance(value, int | float) and not name.startswith("_") and name not in axes
        }  # fmt: skip

    def scalars(self, name: str) -> Scalars:
        return self._column(name, int | float)

    def pictures(self, name: str) -> list[int]:
        found = self._column(name, dict)
        assert all(value["_type"] == "image-file" for _, value in found)
        return [step for step, _ in found]

    def texts(self, name: str) -> list[tuple[int, str]]:
        return self._column(name, str)

    def settings(self) -> dict[str, str]:
        updates = [item for config in self._records("config") for item in config.update]
        found = {item.key: json.loads(item.value_json) for item in updates}
        return {name: value for name, value in found.items() if not name.startswith("_")}

    def everything(self) -> object:
        return {path: path.read_bytes() for path in self._files()}


DASHBOARDS = {"tensorboard": TensorBoardFiles, "wandb": WandbFiles, "mlflow": MLflowFolder}
