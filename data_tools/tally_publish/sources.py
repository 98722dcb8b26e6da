# SPDX-License-Identifier: Apache-2.0
"""What is new in an output folder of `tally watch`, or in a result of `tally evaluate`.

A position is a dict that says what of a folder has been published, and can be saved as JSON. What is
yielded counts as published when the next item is asked for; the position may be saved at each item.
"""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from tally_data.errors import DataError

from .tail_jsonl import FileReplaced, new_lines, read_object
from .items import SAMPLES, STEPS, Item, Row, Scalars, Settings, Text
from .plots import draw_plots

Position = dict[str, Any]


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp()


def _figures(metrics: dict[str, Any]) -> dict[str, float]:
    """name, name_low, name_high of what is defined."""
    found = {}
    for name, metric in metrics.items():
        for key, end in (("value", ""), ("low", "_low"), ("high", "_high")):
            if metric.get(key) is not None:
                found[name + end] = metric[key]
    return found


def _running(folder: Path, name: str, position: Position) -> Iterator[Item]:
    """Figures while a run goes on, over the samples of all runs of the folder behind one another."""
    seen = position.setdefault("events", {})
    lines, rows = dict(seen.get(name, {})), []
    for event in new_lines(folder / "events.jsonl", lines):
        if event.get("event") != "progress":
            continue
        first = lines.setdefault("samples_before", position.get("running_samples", 0))
        values = {f"running/{metric}": value for metric, value in event["running_metrics"].items()}
        values["running/samples_per_s"] = event["samples_per_s"]
        known = {metric: value for metric, value in values.items() if value is not None}
        rows.append(Row(first + event["samples_done"], _seconds(event["time"]), known))
    if rows:
        yield Scalars(SAMPLES, rows)
        position["running_samples"] = rows[-1].place
    seen[name] = lines


def _settings(settings: dict[str, Any] | None, position: Position) -> Iterator[Item]:
    if settings is not None and not position.get("settings"):
        yield Settings({name: str(value) for name, value in settings.items()})
        position["settings"] = True


def _pictures(result: Path, step: int, time: float, position: Position) -> Iterator[Item]:
    """Those that were not sent; `pictures` of the position is taken away once the figures are, too."""
    for picture in draw_plots(result / "metrics.h5", step, time):
        if picture.name not in position.get("pictures", []):
            yield picture
            position.setdefault("pictures", []).append(picture.name)


class ResultFolder:
    """A result of `tally evaluate`, finished or not; its figures are those of step 0."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def is_over(self) -> bool:
        return (self.folder / "report.json").is_file()

    def news(self, position: Position) -> Iterator[Item]:
        yield from _running(self.folder, ".", position)
        report = read_object(self.folder / "report.json")
        if report is None or position.get("checkpoints"):
            return
        time = (self.folder / "report.json").stat().st_mtime
        yield from _settings(report["config"], position)
        yield from _pictures(self.folder, 0, time, position)
        yield Scalars(STEPS, [Row(0, time, _figures(report["metrics"]))])
        position.pop("pictures", None)
        position["checkpoints"] = 1


class WatchFolder:
    """An output folder of `tally watch`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def is_over(self) -> bool:
        """Whether nothing more will come: ask before news(), so that what was written before is found."""
        made_with = read_object(self.folder / "watch.json")
        return made_with is not None and made_with.get("ended") is not None

    def news(self, position: Position) -> Iterator[Item]:
        stop = read_object(self.folder / "stop.json")
        made_with = read_object(self.folder / "watch.json")
        yield from _settings(made_with and made_with["settings"], position)
        for result in self._results():
            yield from self._running(result, position)
        for line in new_lines(self.folder / "leaderboard.jsonl", position.setdefault("leaderboard", {})):
            yield from self._checkpoint(line, position)
        yield from self._stop(stop, position)

    def _results(self) -> list[Path]:
        """In the order in which they were evaluated."""
        events = [(path.stat().st_mtime_ns, path) for path in self.folder.glob("results/*/events.jsonl")]
        return [path.parent for _, path in sorted(events)]

    @staticmethod
    def _running(result: Path, position: Position) -> Iterator[Item]:
        try:
            yield from _running(result, result.name, position)
        except FileReplaced:  # the watch was interrupted in it, and evaluated the checkpoint again
            del position["events"][result.name]
            yield from _running(result, result.name, position)

    def _checkpoint(self, line: dict[str, Any], position: Position) -> Iterator[Item]:
        number, time = position["leaderboard"]["lines"] + 1, _seconds(line["time"])
        step = number if line["step"] is None else line["step"]
        if line["status"] == "broken":
            yield Text("broken", step, time, f"{line['name']}: {line['reason']}")
        elif line["status"] == "evaluated":
            yield from _pictures(self.folder / line["result"], step, time, position)
            yield Scalars(STEPS, [Row(step, time, _figures(line["metrics"]))])
            position.pop("pictures", None)
            position["checkpoints"] = position.get("checkpoints", 0) + 1

    @staticmethod
    def _stop(stop: dict[str, Any] | None, position: Position) -> Iterator[Item]:
        if stop is None:
            return
        best, last = stop["best"] or {}, stop["last"] or {}
        told = [stop["reason"], last.get("step")]  # not its time: each watch writes the file anew
        if position.get("stop") == told:
            return
        text = f"{stop['reason']}; best {best.get('name')}: {stop['monitor']} {best.get('value')}"
        yield Text("stop", last.get("step") or 0, _seconds(stop["time"]), text)
        position["stop"] = told


Source = ResultFolder | WatchFolder


def find_source(folder: Path) -> Source | None:
    """None where there is nothing yet. Raises DataError where `folder` is something else."""
    if not folder.exists():
        return None
    if not folder.is_dir():
        raise DataError(f"'{folder}' is no folder; name an output folder of tally watch or tally evaluate")
    if any((folder / name).is_file() for name in ("leaderboard.jsonl", "watch.json")):
        return WatchFolder(folder)
    if any((folder / name).is_file() for name in ("report.json", "events.jsonl")):
        return ResultFolder(folder)
    return None
