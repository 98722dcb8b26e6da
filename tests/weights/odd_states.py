# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed's files as its own package would write them elsewhere, and as nobody would, made of those of two ranks."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from deepspeed.runtime.zero.config import ZeroStageEnum
from deepspeed.utils.zero_to_fp32 import get_fp32_state_dict_from_zero_checkpoint

Files = dict[str, dict[str, Any]]

STEP = "global_step3"
MODEL = "mp_rank_00_model_states.pt"
FLAT = {2: "single_partition_of_fp32_groups", 3: "fp32_flat_groups"}
NAME = "conv.weight"


def _model(rank: int) -> str:
    return f"zero_pp_rank_{rank}_{MODEL}"


def _optim(rank: int) -> str:
    return f"bf16_zero_pp_rank_{rank}_mp_rank_00_optim_states.pt"


def read(folder: Path) -> Files:
    return {path.name: torch.load(path, weights_only=False) for path in (folder / STEP).glob("*.pt")}


def write(folder: Path, files: Files) -> None:
    (folder / STEP).mkdir(parents=True)
    (folder / "latest").write_text(STEP)
    for name, content in files.items():
        torch.save(content, folder / STEP / name)


def _optimizer(files: Files, rank: int = 0) -> dict[str, Any]:
    return files[_optim(rank)]["optimizer_state_dict"]


def _padded(values: torch.Tensor, size: int) -> torch.Tensor:
    return torch.cat([values.reshape(-1), torch.zeros(size - values.numel(), dtype=values.dtype)])


def of_more_ranks(files: Files, state: dict[str, torch.Tensor], stage: int, ranks: int, padding: int = 0) -> Files:
    """The same weights over so many ranks; behind each parameter so many unused elements (stage 2)."""
    first = files[MODEL if stage == 2 else _model(0)]
    names = [list(group) for group in first["param_shapes"]]
    rows: list[list[torch.Tensor]] = [[] for _ in range(ranks)]
    for group in names:
        if stage == 2:
            whole = torch.cat([_padded(state[name], state[name].numel() + padding) for name in group])
            size = -(-whole.numel() // ranks)
            parts = _padded(whole, size * ranks).split(size)
        else:
            sizes = [-(-state[name].numel() // ranks) for name in group]
            shares = [_padded(state[name], size * ranks).split(size) for name, size in zip(group, sizes, strict=True)]
            parts = [torch.cat([share[rank] for share in shares]) for rank in range(ranks)]
        for row, part in zip(rows, parts, strict=True):
            row.append(part.clone())
    made: Files = {MODEL: first} if stage == 2 else {}
    for rank, row in enumerate(rows):
        facts = _optimizer(files) | {FLAT[stage]: row, "partition_count": [ranks, 1] if stage == 2 else ranks}
        if padding:
            facts["param_alignment_paddings"] = [[padding] * len(group) for group in names]
        made[_optim(rank)] = {"optimizer_state_dict": facts}
        if stage == 3:
            split = {}
            for name in first["frozen_param_shapes"] or {}:
                size = -(-state[name].numel() // ranks)
                split[name] = _padded(state[name], size * ranks).split(size)[rank].clone()
            made[_model(rank)] = first | {"frozen_param_fragments": split or None}
    return made


def _of_optimizer(key: str, value: object) -> Callable[[Files], None]:
    return lambda files: _optimizer(files).update({key: value})


def _of_model(key: str, value: object) -> Callable[[Files], None]:
    return lambda files: files[MODEL].update({key: value})


def _of_group(change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Files], None]:
    """Another flat tensor of the first group of rank 0."""

    def apply(files: Files) -> None:
        groups = _optimizer(files)[FLAT[2]]
        groups[0] = change(groups[0])

    return apply


def _padding(size: int) -> Callable[[Files], None]:
    def apply(files: Files) -> None:
        groups = _optimizer(files)["param_alignment_paddings"]
        _optimizer(files)["param_alignment_paddings"] = [[size] * len(group) for group in groups]

    return apply


def _shape(*sizes: int) -> Callable[[Files], None]:
    return lambda files: files[MODEL]["param_shapes"][0].update({NAME: torch.Size(sizes)})


def _without(key: str) -> Callable[[Files], None]:
    return lambda files: files[MODEL].pop(key)


def _doubled_pool(values: torch.Tensor) -> torch.Tensor:
    return torch.stack([values, values], 1)[:, 0]


BAD: dict[str, Callable[[Files], None]] = {
    "more_ranks": _of_optimizer("partition_count", [3, 2]),
    "no_ranks": _of_optimizer("partition_count", [0]),
    "ranks_in_words": _of_optimizer("partition_count", "two"),
    "stage_unknown": _of_optimizer("zero_stage", 4),
    "stage_none": _of_optimizer("zero_stage", None),
    "other_stage": lambda files: _optimizer(files, 1).update({"zero_stage": 1}),
    "fewer_groups": lambda files: [_optimizer(files, rank)[FLAT[2]].pop() for rank in (0, 1)],
    "group_of_text": lambda files: _optimizer(files)[FLAT[2]].__setitem__(0, "text"),
    "group_shorter": _of_group(lambda values: values[:-20].clone()),
    "group_longer": _of_group(lambda values: torch.cat([values, values])),
    "group_of_two_dimensions": _of_group(lambda values: values.view(-1, 1)),
    "group_with_gaps": _of_group(_doubled_pool),
    "group_of_other_type": _of_group(lambda values: values.bfloat16()),
    "paddings_of_others": _of_optimizer("param_alignment_paddings", [[0], [0]]),
    "padding_negative": _padding(-1),
    "padding_huge": _padding(2**60),
    "shape_larger": _shape(14, 3, 3, 3),
    "shape_huge": _shape(10**12),
    "shape_wrapping": _shape(2**32, 2**32),
    "shape_in_words": lambda files: files[MODEL]["param_shapes"][0].update({NAME: "x"}),
    "shapes_missing": _of_model("param_shapes", None),
    "shapes_of_text": _of_model("param_shapes", "text"),
    "buffer_names_missing": _without("buffer_names"),
    "module_missing": _of_model("module", None),
    "frozen_without_fragment": _of_model("frozen_param_shapes", {"x": torch.Size([3])}),
    "experts": _of_model("ds_autoep_layers", [{"checkpoint_format": "zero3_partitioned"}]),
    "no_dict": lambda files: files.update({_optim(1): [1, 2]}),
}


def _longer(files: Files) -> None:
    for rank in (0, 1):
        groups = _optimizer(files, rank)[FLAT[3]]
        groups[1] = torch.cat([groups[1], groups[1]])


def _longer_for_one(files: Files) -> None:
    groups = _optimizer(files, 1)[FLAT[3]]
    groups[1] = torch.cat([groups[1], groups[1]])


def _fragments_cut(files: Files) -> None:
    fragments = files[_model(1)]["frozen_param_fragments"]
    fragments["wide.weight"] = fragments["wide.weight"][:5].clone()


BAD_OF_STAGE_3: dict[str, Callable[[Files], None]] = {
    "stage3_longer": _longer,
    "stage3_longer_for_one": _longer_for_one,
    "stage3_fragments_cut": _fragments_cut,
}


class _Reduced:
    """Pickled as this call."""

    def __init__(self, call: Callable[..., object], *arguments: object) -> None:
        self._reduced = (call, arguments)

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self._reduced


# Releases of Python differ in how they pickle the members of an enum.
STAGE_2 = {"by_name": _Reduced(getattr, ZeroStageEnum, "gradients"), "by_value": _Reduced(ZeroStageEnum, 2)}


def write_all(folder: Path, made: Path) -> None:
    for stage, name, ranks, padding in (
        (2, "stage2_bf16", 11, 0),
        (2, "stage2_bf16", 3, 5),
        (3, "stage3_bf16", 11, 0),
        (3, "stage3_frozen", 11, 0),
    ):
        path = made / f"{name}-{ranks}-{padding}"
        files = read(folder / name)
        state = get_fp32_state_dict_from_zero_checkpoint(str(folder / name))
        write(path, of_more_ranks(files, state, stage, ranks, padding))
        again = get_fp32_state_dict_from_zero_checkpoint(str(path))
        assert all(torch.equal(again[key], value) for key, value in state.items())
        torch.save(dict(again), made / f"{path.name}.expected.pth")
    for form, stage_2 in STAGE_2.items():
        files = read(folder / "stage2_bf16")
        for rank in (0, 1):
            _optimizer(files, rank)["zero_stage"] = stage_2
        path = made / f"stage2_bf16-{form}"
        write(path, files)
        torch.save(dict(get_fp32_state_dict_from_zero_checkpoint(str(path))), made / f"{path.name}.expected.pth")
    for name, change in BAD_OF_STAGE_3.items():
        changed = read(folder / "stage3_frozen")
        change(changed)
        write(made / "bad" / name, changed)
    files = read(folder / "stage2_bf16")
    whole = files[MODEL] | {"param_shapes": None, "optimizer": {}}
    write(made / "no_zero", {MODEL: whole})
    torch.save(whole["module"], made / "no_zero.expected.pth")
    for name, change in BAD.items():
        changed = copy.deepcopy(files)
        change(changed)
        write(made / "bad" / name, changed)
