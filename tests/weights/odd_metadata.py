# SPDX-License-Identifier: Apache-2.0
"""Variants of a .metadata of torch.distributed.checkpoint that a test puts in place of the right one."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
from torch.distributed._shard.sharded_tensor.metadata import TensorProperties as OldProperties
from torch.distributed.checkpoint.filesystem import _StorageInfo
from torch.distributed.checkpoint.metadata import ChunkStorageMetadata, Metadata, MetadataIndex

NAME = "model.conv.weight"  # [13, 3, 3, 3], of which a rank has the first 7 rows
OTHER = "model.wide.weight"


def _sizes(*sizes: int) -> torch.Size:
    return torch.Size(sizes)


def _chunks(metadata: Metadata) -> list[ChunkStorageMetadata]:
    return metadata.state_dict_metadata[NAME].chunks


def _chunk(offset: int, size: int) -> Callable[[Metadata], None]:
    """Other rows for the second chunk."""

    def change(metadata: Metadata) -> None:
        _chunks(metadata)[1] = ChunkStorageMetadata(_sizes(offset, 0, 0, 0), _sizes(size, 3, 3, 3))

    return change


def _info(**changes: object) -> Callable[[Metadata], None]:
    """Other facts of where the first chunk lies."""

    def change(metadata: Metadata) -> None:
        index = MetadataIndex(NAME, (0, 0, 0, 0))
        metadata.storage_data[index] = replace(metadata.storage_data[index], **changes)

    return change


def _tensor(**changes: object) -> Callable[[Metadata], None]:
    def change(metadata: Metadata) -> None:
        tensor = metadata.state_dict_metadata[NAME]
        for name, value in changes.items():
            setattr(tensor, name, value)

    return change


def _old(metadata: Metadata) -> None:
    for tensor in metadata.state_dict_metadata.values():
        old = OldProperties()
        old.dtype = tensor.properties.dtype
        tensor.properties = old


def _other_type(metadata: Metadata) -> None:
    metadata.state_dict_metadata[NAME].properties.dtype = torch.float64


def _complex(metadata: Metadata) -> None:
    metadata.state_dict_metadata[NAME].properties.dtype = torch.complex64


def _of_other(metadata: Metadata) -> None:
    metadata.storage_data[MetadataIndex(NAME, (0, 0, 0, 0))] = metadata.storage_data[MetadataIndex(OTHER, (0, 0))]


def _same_path(metadata: Metadata) -> None:
    metadata.planner_data[OTHER] = metadata.planner_data[NAME]


def _value_below_a_tensor(metadata: Metadata) -> None:
    metadata.planner_data[OTHER] = (*metadata.planner_data[NAME], "x")


def _no_paths(metadata: Metadata) -> None:
    metadata.planner_data = None


def _no_usual_paths(metadata: Metadata) -> None:
    paths = {name: ("backbone", name.removeprefix("model.")) for name in metadata.planner_data}
    metadata.planner_data = paths | {OTHER: ("optim", "state", 0)}


def _odd_paths(metadata: Metadata) -> None:
    metadata.planner_data = {name: ["model", 1.5] for name in metadata.planner_data}


VARIANTS: dict[str, Callable[[Metadata], None]] = {
    "old_properties": _old,
    "no_paths": _no_paths,
    "odd_paths": _odd_paths,
    "no_usual_paths": _no_usual_paths,
    "complex": _complex,
    "chunk_missing": lambda metadata: _chunks(metadata).pop(),
    "chunk_twice": lambda metadata: _chunks(metadata).append(_chunks(metadata)[0]),
    "chunk_overlapping": _chunk(6, 6),
    "chunk_outside": _chunk(7, 7),
    "chunk_negative": _chunk(-1, 6),
    "chunk_of_huge_size": _chunk(7, 2**62),
    "chunk_nowhere": lambda metadata: metadata.storage_data.pop(MetadataIndex(NAME, (0, 0, 0, 0))),
    "tensor_of_huge_size": _tensor(size=_sizes(10**12, 3, 3, 3)),
    "tensor_without_size": _tensor(size=None),
    "tensor_without_type": _tensor(properties=None),
    "tensor_of_other_type": _other_type,
    "slice_outside": _info(offset=10**9),
    "slice_wrapping": _info(offset=2**63 - 1, length=2**63 - 1),
    "slice_negative": _info(offset=-1),
    "slice_short": _info(length=100),
    "slice_of_other_tensor": _of_other,
    "transformed": _info(transform_descriptors=["stream.zstd"]),
    "file_up": _info(relative_path="../__0_0.distcp"),
    "file_absolute": _info(relative_path="/etc/passwd"),
    "file_of_no_name": _info(relative_path=""),
    "file_missing": _info(relative_path="__9_9.distcp"),
    "file_a_number": _info(relative_path=7),
    "same_path": _same_path,
    "value_below_a_tensor": _value_below_a_tensor,
}


def write_all(checkpoint: Path, folder: Path) -> None:
    folder.mkdir()
    for name, change in VARIANTS.items():
        metadata = pickle.loads((checkpoint / ".metadata").read_bytes())
        assert isinstance(next(iter(metadata.storage_data.values())), _StorageInfo)
        change(metadata)
        (folder / name).write_bytes(pickle.dumps(metadata))
