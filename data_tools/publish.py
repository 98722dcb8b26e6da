#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Publishes results to TensorBoard, W&B and MLflow, through their own libraries.

FOLDER is the output folder of `tally watch`, or a result of `tally evaluate`; each becomes a run. Published
are all metrics by the step of their checkpoint, with their intervals as <metric>_low and <metric>_high; the
confusion matrix and the reliability diagram as pictures; what is known while a run goes on, over the samples
evaluated, as running/<metric>; the configuration, and checkpoints that are broken, as text. Run it again, and
only what is new is added: FOLDER/publish.json says what has been published.
"""

import argparse
import difflib
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from tally_data.errors import DataError, OutputError, ToolError, UsageError, run_tool
from tally_data.options import ToolParser, positive
from tally_publish.tail_jsonl import FileReplaced
from tally_publish.items import Item
from tally_publish.publish_state import NAME, read_position, save_position
from tally_publish.sources import Source, find_source
from tally_publish.targets import TARGETS, NameTaken, check_installed


def targets(text: str) -> list[str]:
    names = list(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in TARGETS:
            nearest = difflib.get_close_matches(name, TARGETS, n=1)
            hint = f"did you mean '{nearest[0]}'?" if nearest else f"expected some of {','.join(TARGETS)}"
            raise argparse.ArgumentTypeError(f"there is no target '{name}', {hint}")
    return names


@contextmanager
def publishing(what: str) -> Iterator[None]:
    """Libraries that talk to servers raise nearly anything."""
    try:
        yield
    except ToolError:
        raise
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise OutputError(f"cannot publish {what}: {reason}") from error


class Publisher:
    """What of one folder goes to one target."""

    def __init__(self, folder: Path, name: str, target: str, args: argparse.Namespace) -> None:
        self.folder = folder
        self._target = TARGETS[target](args, name)
        self._key = f"{target} {self._target.place}"
        self._what = f"'{folder}' to {target} ({self._target.place})"
        self._position: dict[str, Any] | None = None
        self._is_open = self._has_kept = False  # the second: in this look
        self.fault: OutputError | None = None  # of the last time, where the next look tries again

    def publish(self, source: Source) -> bool:
        """Whether anything was new. After a fault the next call goes on from the saved position."""
        try:
            is_new = self._publish(source)
        except FileReplaced as error:
            raise DataError(f"{error}; delete '{self.folder / NAME}' to publish it as another run") from error
        except OutputError:
            with suppress(OutputError):
                self.close()
            self._position = None
            raise
        self.fault = None
        return is_new

    def publish_or_tell(self, source: Source) -> bool:
        """As publish, but a fault that time may mend is told, once, and kept as `fault`."""
        try:
            return self.publish(source)
        except NameTaken:
            raise
        except OutputError as error:
            if self.fault is None:
                print(f"publish: warning: {error}; trying again at each look", file=sys.stderr, flush=True)
            self.fault = error
            return self._has_kept

    def _publish(self, source: Source) -> bool:
        if self._position is None:
            self._position = read_position(self.folder, self._key)
        checkpoints, count = self._position.get("checkpoints", 0), 0
        self._has_kept = False
        try:
            for item in source.news(self._position):
                if count > 0 and self._target.keeps_each:
                    self._save(self._position)
                self._send(item)
                count += 1
        finally:
            if count > 0:
                self._keep(checkpoints)
        return count > 0

    def _send(self, item: Item) -> None:
        with publishing(self._what):
            if not self._is_open:
                self._open()
            item.send(self._target)
            self._target.flush()

    def _open(self) -> None:
        if "run" not in self._position:
            self._save({})  # where this fails no run is made, and where a run is made its id is kept
            self._position["run"] = self._target.new_run()
            self._save({"run": self._position["run"]})
        self._target.open(self._position)
        self._is_open = True

    def _keep(self, checkpoints: int) -> None:
        """Saves the position once the target has for good what was sent."""
        if not self._target.keeps_each:
            self.close()
        self._save(self._position)
        self._has_kept = True
        new = self._position.get("checkpoints", 0) - checkpoints
        print(f"published {self._what}: {new} checkpoint{'' if new == 1 else 's'}", flush=True)

    def _save(self, position: dict[str, Any]) -> None:
        save_position(self.folder, self._key, position)

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            with publishing(self._what):
                self._target.close()


class Follower:
    """One folder and its publishers."""

    def __init__(self, folder: Path, publishers: list[Publisher]) -> None:
        self.folder, self.publishers = folder, publishers
        self.is_over = False

    def poll(self, patient: bool = False) -> bool:
        """Publishes what is new; returns whether anything was. If `patient` a fault is tried again at the next poll."""
        source = find_source(self.folder)
        if source is None:
            return False
        over = source.is_over()
        publish = Publisher.publish_or_tell if patient else Publisher.publish
        is_new = any([publish(publisher, source) for publisher in self.publishers])
        self.is_over = over and not self.faults()
        return is_new

    def faults(self) -> list[OutputError]:
        return [publisher.fault for publisher in self.publishers if publisher.fault is not None]


def follow(followers: list[Follower], poll_s: float, idle_limit_s: float | None) -> None:
    """Until nothing more will come of any folder, or nothing has come for so long; then raises a fault that stayed."""
    last_news = time.monotonic()
    while True:
        if any([follower.poll(patient=True) for follower in followers if not follower.is_over]):
            last_news = time.monotonic()
        if all(follower.is_over for follower in followers):
            return
        if idle_limit_s is not None and time.monotonic() - last_news >= idle_limit_s:
            break
        time.sleep(poll_s)
    for fault in [fault for follower in followers for fault in follower.faults()]:
        raise fault


def make_parser() -> argparse.ArgumentParser:
    parser = ToolParser(__doc__)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="of tally watch or tally evaluate")
    parser.add_argument(
        "--to", type=targets, required=True, metavar="LIST", help="tensorboard, wandb, mlflow, with commas between"
    )
    parser.add_argument("--follow", action="store_true", help="go on until the watch or the evaluation has ended")
    parser.add_argument("--poll", type=positive, metavar="SECONDS", help="with --follow: look so often, default 10")
    parser.add_argument(
        "--idle-limit", type=positive, metavar="SECONDS", help="with --follow: end when nothing new came for so long"
    )
    parser.add_argument("--name", metavar="NAME", help="of the run, default: that of its folder")
    parser.add_argument("--tensorboard-dir", type=Path, metavar="DIR", help="default runs; --logdir of tensorboard")
    parser.add_argument("--wandb-project", metavar="NAME", help="default tally")
    parser.add_argument("--wandb-entity", metavar="NAME", help="default: your account's")
    parser.add_argument("--wandb-mode", choices=("online", "offline"), help="default online, or as WANDB_MODE says")
    parser.add_argument("--mlflow-uri", metavar="URI", help="server or folder, default $MLFLOW_TRACKING_URI")
    parser.add_argument("--mlflow-experiment", metavar="NAME", help="default tally")
    return parser


def settle_options(args: argparse.Namespace) -> None:
    """Refuses options without effect, and fills in defaults."""
    for name in ("poll", "idle_limit"):
        if getattr(args, name) is not None and not args.follow:
            raise UsageError(f"--{name.replace('_', '-')} is for --follow")
    for target, kind in TARGETS.items():
        for name, default in kind.options.items():
            if getattr(args, name) is None:
                setattr(args, name, default)
            elif target not in args.to:
                raise UsageError(f"--{name.replace('_', '-')} is for --to {target}")


def make_followers(args: argparse.Namespace) -> list[Follower]:
    by_name: dict[str, Path] = {}
    for folder in args.folders:
        name = args.name or folder.absolute().name
        if name in by_name:
            both = f"'{by_name[name]}' and '{folder}'"
            raise UsageError(f"{both} would both be the run '{name}'; publish them one by one, with --name")
        by_name[name] = folder
        if find_source(folder) is None and not args.follow:
            raise DataError(f"'{folder}' holds no output of tally watch or tally evaluate; --follow waits for it")
    return [
        Follower(folder, [Publisher(folder, name, target, args) for target in args.to])
        for name, folder in by_name.items()
    ]


def publish_all(followers: list[Follower], args: argparse.Namespace) -> None:
    with ExitStack() as at_end:  # of several that cannot be closed, each is tried
        for follower in followers:
            for publisher in follower.publishers:
                at_end.callback(publisher.close)
        if args.follow:
            follow(followers, args.poll or 10, args.idle_limit)
            return
        for follower in followers:
            if not follower.poll():
                print(f"nothing new in '{follower.folder}'")


def main() -> None:
    args = make_parser().parse_args()
    settle_options(args)
    for target in args.to:
        check_installed(target)
    try:
        publish_all(make_followers(args), args)
    except NameTaken:
        raise
    except OutputError as error:
        raise OutputError(f"{error}; the same command later goes on from here") from error


if __name__ == "__main__":
    run_tool("publish", main)
