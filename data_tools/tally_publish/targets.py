# SPDX-License-Identifier: Apache-2.0
"""TensorBoard, W&B and MLflow, each through its own library: a run for each folder.

A target is opened when there is something to publish. `position` (see sources.py) keeps the id that
new_run() gave its run, so that a later call adds to it; it is saved before anything is sent.
`keeps_each` says whether what was sent is kept for good once flush() returns, or only after close().
"""

import argparse
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tally_data.errors import EnvironmentFault, OutputError, UsageError

from .items import SAMPLES, STEPS, Row


class NameTaken(OutputError):
    """Another run has the name: waiting does not help."""


def _milliseconds(time: float) -> int:
    return round(time * 1000)


class TensorBoard:
    """Event files in --tensorboard-dir/<name>; TensorBoard keeps values as float32."""

    package = "tensorboard"
    keeps_each = True
    options = {"tensorboard_dir": Path("runs")}

    def __init__(self, args: argparse.Namespace, name: str) -> None:
        self.place = str(args.tensorboard_dir.absolute() / name)

    def new_run(self) -> str:
        if Path(self.place).is_dir():
            raise NameTaken(f"'{self.place}' is there already, of another run; give this one a --name")
        return self.place

    def open(self, _position: dict[str, Any]) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(self.place)

    def scalars(self, _axis: str, rows: list[Row]) -> None:
        for row in rows:
            for name, value in row.values.items():
                self._writer.add_scalar(name, value, row.place, row.time)

    def picture(self, name: str, step: int, time: float, image: Image.Image) -> None:
        self._writer.add_image(name, np.asarray(image), step, time, dataformats="HWC")

    def text(self, name: str, step: int, time: float, text: str) -> None:
        self._writer.add_text(name, text, step, time)

    def settings(self, settings: dict[str, str]) -> None:
        rows = [f"| {name} | {value} |" for name, value in settings.items()]
        self._writer.add_text("configuration", "\n".join(["| option | value |", "|---|---|", *rows]))

    def flush(self) -> None:
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


class WeightsAndBiases:
    """A run of --wandb-project. W&B wants its own steps to rise, so these count rows; axes are columns.

    Its own process writes and sends in the background: only finish() waits until all is there.
    """

    package = "wandb"
    keeps_each = False
    options = {"wandb_project": "tally", "wandb_entity": None, "wandb_mode": None}

    def __init__(self, args: argparse.Namespace, name: str) -> None:
        self._args, self._name = args, name
        mode = args.wandb_mode or os.environ.get("WANDB_MODE", "online")  # runs of other modes are others
        project = f"{args.wandb_entity}/{args.wandb_project}" if args.wandb_entity else args.wandb_project
        self.place = f"{project}, {mode}"

    def new_run(self) -> str:
        return uuid.uuid4().hex[:12]

    def open(self, position: dict[str, Any]) -> None:
        import wandb

        self._teardown, self._position = wandb.teardown, position
        with self._anew_after_a_fault():
            self._begin(wandb)

    def _begin(self, wandb: Any) -> None:
        settings = wandb.Settings(
            silent=True, console="off", disable_git=True, save_code=False, x_disable_stats=True
        )
        self._run = wandb.init(
            project=self._args.wandb_project, entity=self._args.wandb_entity, mode=self._args.wandb_mode,
            name=self._name, id=self._position["run"], resume="allow",
            job_type="evaluation", reinit="create_new", settings=settings,
        )  # fmt: skip
        self._picture = wandb.Image
        # A server may have got more than was recorded here, and drops what it has later rows than.
        self._position["rows"] = max(self._position.get("rows", 0), self._run.step)
        self._run.define_metric(STEPS)
        self._run.define_metric(SAMPLES)
        self._run.define_metric("running/*", step_metric=SAMPLES)
        self._run.define_metric("*", step_metric=STEPS)

    def _log(self, row: dict[str, Any]) -> None:
        self._run.log(row, step=self._position.get("rows", 0), commit=True)
        self._position["rows"] = self._position.get("rows", 0) + 1

    def scalars(self, axis: str, rows: list[Row]) -> None:
        for row in rows:
            self._log({axis: row.place, **row.values})

    def picture(self, name: str, step: int, _time: float, image: Image.Image) -> None:
        self._log({STEPS: step, name: self._picture(image)})

    def text(self, name: str, step: int, _time: float, text: str) -> None:
        self._log({STEPS: step, name: text})

    def settings(self, settings: dict[str, str]) -> None:
        self._run.config.update(settings, allow_val_change=True)

    def flush(self) -> None:
        """Nothing waits for W&B but finish()."""

    def close(self) -> None:
        with self._anew_after_a_fault():
            self._run.finish()

    @contextmanager
    def _anew_after_a_fault(self) -> Iterator[None]:
        """W&B's own process may be gone, or still hold the run: has the next open() start another."""
        try:
            yield
        except Exception:
            with suppress(Exception):
                self._teardown()
            raise


class MLflow:
    """A run of --mlflow-experiment at --mlflow-uri: a server, or a folder."""

    package = "mlflow-skinny"
    keeps_each = True
    options = {"mlflow_uri": None, "mlflow_experiment": "tally"}
    METRICS_PER_CALL, PARAMETERS_PER_CALL, LONGEST_PARAMETER = 1000, 100, 6000

    def __init__(self, args: argparse.Namespace, name: str) -> None:
        self._uri = args.mlflow_uri or os.environ.get("MLFLOW_TRACKING_URI")
        self._experiment, self._name = args.mlflow_experiment, name
        if self._uri is None and find_spec("sqlalchemy") is None:
            raise UsageError(
                "mlflow needs a place: name a server or a folder with --mlflow-uri; its database files want "
                "the whole package, pip install mlflow"
            )
        if self._uri is not None and ":" not in self._uri and self._uri != "databricks":
            self._uri = Path(self._uri).absolute().as_uri()
        self.place = f"{self._experiment} at {self._uri or 'its default'}"

    def _connect(self) -> Any:
        # MLflow 3 keeps runs in folders only where it is told that this is meant; naming a folder tells.
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        from mlflow import MlflowClient

        return MlflowClient(tracking_uri=self._uri)

    def new_run(self) -> str:
        client = self._connect()
        experiment = client.get_experiment_by_name(self._experiment)
        number = experiment.experiment_id if experiment else client.create_experiment(self._experiment)
        return client.create_run(number, run_name=self._name).info.run_id

    def open(self, position: dict[str, Any]) -> None:
        self._client, self._run = self._connect(), position["run"]
        from mlflow.entities import Metric

        self._metric = Metric
        self._client.update_run(self._run, status="RUNNING")

    def scalars(self, _axis: str, rows: list[Row]) -> None:
        metrics = [
            self._metric(name, value, _milliseconds(row.time), row.place)
            for row in rows
            for name, value in row.values.items()
        ]
        for first in range(0, len(metrics), self.METRICS_PER_CALL):
            self._client.log_batch(self._run, metrics=metrics[first : first + self.METRICS_PER_CALL])

    def picture(self, name: str, step: int, time: float, image: Image.Image) -> None:
        self._client.log_image(self._run, image, key=name, step=step, timestamp=_milliseconds(time))

    def text(self, name: str, step: int, time: float, text: str) -> None:
        self._client.set_tag(self._run, f"{name}.{step}", text)

    def settings(self, settings: dict[str, str]) -> None:
        from mlflow.entities import Param

        parameters = [Param(name, text[: self.LONGEST_PARAMETER]) for name, text in settings.items()]
        for first in range(0, len(parameters), self.PARAMETERS_PER_CALL):
            self._client.log_batch(self._run, params=parameters[first : first + self.PARAMETERS_PER_CALL])

    def flush(self) -> None:
        """Every call is answered before the next."""

    def close(self) -> None:
        self._client.set_terminated(self._run)


TARGETS = {"tensorboard": TensorBoard, "wandb": WeightsAndBiases, "mlflow": MLflow}


def check_installed(name: str) -> None:
    """Raises EnvironmentFault that names what installs it."""
    if find_spec(name) is None:
        package = TARGETS[name].package
        raise EnvironmentFault(f"{name} is not installed; run: pip install {package} (or jobs/setup.sh --with-dashboards)")
