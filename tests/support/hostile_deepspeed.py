# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed's checkpoints whose files contradict each other: changes of a good one of two ranks."""

import os
from collections.abc import Callable
from pathlib import Path

import torch
from hostile_pickles import COMMANDS, SLOT, splice_file

HUGE = 10**12
WEIGHT = "wide.weight"
Change = Callable[[Path], None]
State = dict[str, object]


def step(folder: Path) -> Path:
    return folder / "global_step3"


def _file(folder: Path, kind: str) -> Path:
    """Of the first rank: `model` or `optim`."""
    return sorted(step(folder).glob(f"*rank_0*{kind}_states.pt"))[0]


def _changed(kind: str, change: Callable[[State], object]) -> Change:
    def run(folder: Path) -> None:
        path = _file(folder, kind)
        state = torch.load(path, weights_only=False)
        change(state)
        torch.save(state, path)

    return run


def _shape(*sizes: int) -> Change:
    """Another shape of one parameter in the list of all."""

    def change(state: State) -> None:
        for group in state["param_shapes"]:
            if WEIGHT in group:
                group[WEIGHT] = torch.Size(sizes)

    return _changed("model", change)


def _optim(**changes: object) -> Change:
    return _changed("optim", lambda state: state["optimizer_state_dict"].update(changes))


def _partitions(change: Callable[[list[torch.Tensor]], object]) -> Change:
    """Of the weights in fp32 that the first rank keeps."""

    def run(state: State) -> None:
        optim = state["optimizer_state_dict"]
        name = next(key for key in ("single_partition_of_fp32_groups", "fp32_flat_groups") if key in optim)
        groups = list(optim[name])
        change(groups)
        optim[name] = groups

    return _changed("optim", run)


def _shorten(groups: list[torch.Tensor]) -> None:
    groups[0] = groups[0][:-20].clone()


def _widen(groups: list[torch.Tensor]) -> None:
    groups[0] = torch.zeros(1).expand(10**9)


def _latest(content: bytes) -> Change:
    def run(folder: Path) -> None:
        (folder / "latest").write_bytes(content)

    return run


def _moved(tag: Callable[[Path], str]) -> Change:
    """The step's folder lies above, and `latest` leads there."""

    def run(folder: Path) -> None:
        target = folder.parent / "outside"
        step(folder).rename(target)
        (folder / "latest").write_text(tag(target))

    return run


def _latest_is_a_pipe(folder: Path) -> None:
    (folder / "latest").unlink()
    os.mkfifo(folder / "latest")


def _pipe(kind: str) -> Change:
    def run(folder: Path) -> None:
        path = _file(folder, kind)
        path.unlink()
        os.mkfifo(path)

    return run


def _cut(kind: str, part: float) -> Change:
    return lambda folder: os.truncate(_file(folder, kind), int(_file(folder, kind).stat().st_size * part))


def _drop(kind: str, key: str) -> Change:
    return _changed(kind, lambda state: state.pop(key))


BAD_DEEPSPEED: dict[str, Change] = {
    "latest_empty": _latest(b""),
    "latest_of_another_step": _latest(b"global_step9"),
    "latest_of_the_folder": _latest(b"."),
    "latest_long": _latest(b"a" * 1_000_000),
    "latest_with_a_zero": _latest(b"global_step3\0x"),
    "latest_absolute": _moved(str),
    "latest_up": _moved(lambda path: f"../{path.name}"),
    "latest_is_a_pipe": _latest_is_a_pipe,
    "model_missing": lambda folder: _file(folder, "model").unlink(),
    "model_is_a_pipe": _pipe("model"),
    "model_cut": _cut("model", 0.5),
    "model_empty": _cut("model", 0),
    "model_of_a_list": lambda folder: torch.save([1, 2], _file(folder, "model")),
    "model_without_shapes": _drop("model", "param_shapes"),
    "optimizer_of_a_rank_missing": lambda folder: _file(folder, "optim").unlink(),
    "optimizer_cut": _cut("optim", 0.5),
    "optimizer_of_a_list": lambda folder: torch.save([1, 2], _file(folder, "optim")),
    "optimizer_without_state": _drop("optim", "optimizer_state_dict"),
    "stage_unknown": _optim(zero_stage=9),
    "stage_of_text": _optim(zero_stage="two"),
    "ranks_too_many": _optim(partition_count=3),
    "ranks_huge": _optim(partition_count=10**9),
    "ranks_none": _optim(partition_count=0),
    "ranks_negative": _optim(partition_count=-2),
    "ranks_of_text": _optim(partition_count="2"),
    "partition_shorter": _partitions(_shorten),
    "partition_of_huge_size": _partitions(_widen),
    "partition_missing": _partitions(lambda groups: groups.pop()),
    "partition_of_text": _partitions(lambda groups: groups.__setitem__(0, "weights")),
    "partitions_none": _partitions(list.clear),
    "shape_huge": _shape(HUGE, HUGE),
    "shape_wrapping": _shape(2**32, 2**32),
    "shape_negative": _shape(-13, -3),
    "shape_larger": _shape(130, 3),
    "shapes_none": _changed("model", lambda state: state["param_shapes"].clear()),
    "shapes_of_text": _changed("model", lambda state: state.update(param_shapes="shapes")),
    "buffer_of_nothing": _changed("model", lambda state: state.update(buffer_names=["nothing"])),
}  # fmt: skip

# Where a command is put; whether the weights are still whole.
PLACES: dict[str, tuple[str, Callable[[State], object], bool]] = {
    "beside_model": ("model", lambda state: state.update(lr_scheduler=SLOT), True),
    "in_module": ("model", lambda state: state["module"].update({"norm.running_mean": SLOT}), False),
    "in_shapes": ("model", lambda state: state.update(param_shapes=SLOT), False),
    "beside_optimizer": ("optim", lambda state: state.update(ds_config=SLOT), True),
    "in_optimizer": ("optim", lambda state: state.update(optimizer_state_dict=SLOT), False),
}


def put_command(folder: Path, place: str, command: str, mark: Path) -> None:
    kind, change, _ = PLACES[place]
    _changed(kind, change)(folder)
    splice_file(_file(folder, kind), COMMANDS[command](str(mark)))
