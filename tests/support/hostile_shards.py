# SPDX-License-Identifier: Apache-2.0
"""Shards whose index leads elsewhere or lies. Each change is made in a folder as Hugging Face's library writes it."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import safetensors.torch

INDEX = "model.safetensors.index.json"
FIRST = "model-00001-of-00004.safetensors"
WEIGHT = "wide.weight"
DEEP = 1_000_000
Change = Callable[[Path], None]


def _index(folder: Path) -> dict[str, dict[str, object]]:
    return json.loads((folder / INDEX).read_text())


def _text(content: bytes) -> Change:
    def run(folder: Path) -> None:
        (folder / INDEX).write_bytes(content)

    return run


def _changed(change: Callable[[dict[str, dict[str, object]]], object]) -> Change:
    def run(folder: Path) -> None:
        index = _index(folder)
        change(index)
        (folder / INDEX).write_text(json.dumps(index))

    return run


def _named(value: object) -> Change:
    """Another file for one tensor."""
    return _changed(lambda index: index["weight_map"].update({WEIGHT: value}))


def _shard(folder: Path) -> Path:
    return folder / str(_index(folder)["weight_map"][WEIGHT])


def _outside(folder: Path) -> Path:
    """The shard in the folder above: a reader that goes there would find what it wants."""
    target = folder.parent / "outside.safetensors"
    _shard(folder).rename(target)
    return target


def _led(path: Callable[[Path], str]) -> Change:
    """To the shard by a way out of the folder."""

    def run(folder: Path) -> None:
        old, new = _shard(folder).name, path(_outside(folder))
        index = _index(folder)
        index["weight_map"] = {name: new if file == old else file for name, file in index["weight_map"].items()}
        (folder / INDEX).write_text(json.dumps(index))

    return run


def put_link(folder: Path) -> None:
    shard = _shard(folder)
    shard.symlink_to(_outside(folder))


def _pipe(folder: Path) -> None:
    shard = _shard(folder)
    shard.unlink()
    os.mkfifo(shard)


def _folder(folder: Path) -> None:
    shard = _shard(folder)
    shard.unlink()
    shard.mkdir()


def _cut(part: float) -> Change:
    return lambda folder: os.truncate(_shard(folder), int(_shard(folder).stat().st_size * part))


def _without_tensor(folder: Path) -> None:
    path = _shard(folder)
    kept = safetensors.torch.load_file(path)
    del kept[WEIGHT]
    safetensors.torch.save_file(kept, path)


BAD_SHARDS: dict[str, Change] = {
    "path_absolute": _led(str),
    "path_up": _led(lambda path: f"../{path.name}"),
    "path_down_and_up": _led(lambda path: f"x/../../{path.name}"),
    "path_of_passwords": _named("/etc/passwd"),
    "path_of_nothing": _named(""),
    "path_of_the_folder": _named("."),
    "path_of_the_index": _named(INDEX),
    "path_with_a_zero": _named(f"{FIRST}\0"),
    "path_of_a_number": _named(3),
    "path_of_a_list": _named([INDEX]),
    "shard_not_there": _named("model-00009-of-00004.safetensors"),
    "shard_missing": lambda folder: _shard(folder).unlink(),
    "shard_is_a_pipe": _pipe,
    "shard_is_a_folder": _folder,
    "shard_empty": _cut(0),
    "shard_cut": _cut(0.5),
    "shard_cut_by_little": _cut(0.99),
    "tensor_not_in_its_shard": _without_tensor,
    "tensor_not_in_any_shard": _changed(lambda index: index["weight_map"].update({"more": FIRST})),
    "index_empty": _text(b""),
    "index_of_a_list": _text(b'["weight_map"]'),
    "index_of_text": _text(b'"weight_map"'),
    "index_without_map": _text(b'{"metadata": {"total_size": 4}}'),
    "index_cut": _text(b'{"metadata": {"total_size": 4}, "weight_map": {"wide.wei'),
    "index_of_no_text": _text(b'{"weight_map": {"\xff\xfe": "a"}}'),
    "index_deep": _text(b'{"weight_map": ' * DEEP + b"{}" + b"}" * DEEP),
    "index_deep_in_lists": _text(b'{"weight_map": ' + b"[" * DEEP + b"]" * DEEP + b"}"),
    "index_of_numbers": _text(b'{"weight_map": 7}'),
    "map_of_a_list": _changed(lambda index: index.update(weight_map=list(index["weight_map"]))),
    "map_empty": _changed(lambda index: index["weight_map"].clear()),
    "map_of_many_files": _changed(
        lambda index: index["weight_map"].update({f"t{n}": f"f{n}.safetensors" for n in range(300_000)})
    ),
}  # fmt: skip
