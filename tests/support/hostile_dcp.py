# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of torch.distributed.checkpoint whose metadata or parts lie: changes of a good one."""

import io
import os
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
from hostile_pickles import COMMANDS, SLOT, splice, splice_file
from torch.distributed.checkpoint.metadata import ChunkStorageMetadata, Metadata, MetadataIndex

HUGE = 10**12
# Float32 [13, 3] over two ranks: rows 0 to 7 and 7 to 13.
WEIGHT = "wide.weight"
Change = Callable[[Path], None]


def read(folder: Path) -> Metadata:
    return pickle.loads((folder / ".metadata").read_bytes())


def write(folder: Path, metadata: object) -> None:
    (folder / ".metadata").write_bytes(pickle.dumps(metadata, protocol=4))


def _changed(change: Callable[[Metadata], object]) -> Change:
    def run(folder: Path) -> None:
        metadata = read(folder)
        change(metadata)
        write(folder, metadata)

    return run


def _size(*sizes: int) -> Change:
    """Of the whole tensor."""
    return _changed(lambda metadata: setattr(metadata.state_dict_metadata[WEIGHT], "size", torch.Size(sizes)))


def _chunks(change: Callable[[list[ChunkStorageMetadata]], object]) -> Change:
    return _changed(lambda metadata: change(metadata.state_dict_metadata[WEIGHT].chunks))


def _chunk(offsets: tuple[int, ...], sizes: tuple[int, ...]) -> Change:
    """Another place for the second part; where its bytes are is kept."""

    def change(metadata: Metadata) -> None:
        chunks = metadata.state_dict_metadata[WEIGHT].chunks
        stored = metadata.storage_data.pop(MetadataIndex(WEIGHT, chunks[1].offsets))
        chunks[1] = ChunkStorageMetadata(torch.Size(offsets), torch.Size(sizes))
        metadata.storage_data[MetadataIndex(WEIGHT, offsets)] = stored

    return _changed(change)


def _stored(**changes: object) -> Change:
    """Another place for the bytes of the first part."""

    def change(metadata: Metadata) -> None:
        index = MetadataIndex(WEIGHT, [0, 0])
        metadata.storage_data[index] = replace(metadata.storage_data[index], **changes)

    return _changed(change)


def _without_bytes(metadata: Metadata) -> None:
    del metadata.storage_data[MetadataIndex(WEIGHT, [0, 0])]


def _other_type(metadata: Metadata) -> None:
    metadata.state_dict_metadata[WEIGHT].properties.dtype = torch.float64


def _bytes_of_another(metadata: Metadata) -> None:
    metadata.storage_data[MetadataIndex(WEIGHT, [0, 0])] = metadata.storage_data[MetadataIndex("norm.bias", [0])]


def _entry(content: Callable[[Path], bytes]) -> Change:
    """Other bytes for the first part, put at the end of a file."""

    def run(folder: Path) -> None:
        index = MetadataIndex(WEIGHT, [0, 0])
        metadata = read(folder)
        stored = metadata.storage_data[index]
        path, new = folder / stored.relative_path, content(folder)
        metadata.storage_data[index] = replace(stored, offset=path.stat().st_size, length=len(new))
        path.write_bytes(path.read_bytes() + new)
        write(folder, metadata)

    return run


def _saved(value: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def _outside(folder: Path) -> Path:
    """A good file in the folder above, so that a reader that goes there would find what it wants."""
    target = folder.parent / "outside.distcp"
    target.write_bytes((folder / "__0_0.distcp").read_bytes())
    return target


def _led(path: Callable[[Path], str]) -> Change:
    def run(folder: Path) -> None:
        _stored(relative_path=path(folder))(folder)

    return run


def put_link(folder: Path) -> None:
    target = _outside(folder)
    (folder / "__0_0.distcp").unlink()
    (folder / "__0_0.distcp").symlink_to(target)


def _pipe(folder: Path) -> None:
    (folder / "__0_0.distcp").unlink()
    os.mkfifo(folder / "__0_0.distcp")


def _cut(name: str, part: float) -> Change:
    return lambda folder: os.truncate(folder / name, int((folder / name).stat().st_size * part))


def _content(name: str, content: bytes) -> Change:
    def run(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return run


BAD_DCP: dict[str, Change] = {
    "size_huge": _size(HUGE, HUGE),
    "size_huge_in_rows": _size(HUGE, 3),
    "size_wrapping": _size(2**32, 2**32),
    "size_negative": _size(-13, 3),
    "size_of_fewer_dimensions": _size(39),
    "size_of_text": _changed(lambda metadata: setattr(metadata.state_dict_metadata[WEIGHT], "size", "13")),
    "no_parts": _chunks(list.clear),
    "huge_and_no_parts": lambda folder: (_size(HUGE, 3)(folder), _chunks(list.clear)(folder)) and None,
    "part_missing": _chunks(lambda chunks: chunks.pop()),
    "part_twice": _chunks(lambda chunks: chunks.append(chunks[0])),
    "parts_without_number": _chunks(lambda chunks: chunks.extend(chunks[:1] * 200_000)),
    "part_over_another": _chunk((6, 0), (6, 3)),
    "part_beyond_the_tensor": _chunk((8, 0), (6, 3)),
    "part_far_beyond_the_tensor": _chunk((HUGE, 0), (6, 3)),
    "part_at_wrapping_offset": _chunk((2**63 - 1, 0), (6, 3)),
    "part_at_negative_offset": _chunk((-6, 0), (6, 3)),
    "part_of_negative_size": _chunk((7, 0), (-6, 3)),
    "part_smaller_than_stored": _chunk((7, 0), (5, 3)),
    "part_of_huge_size": _chunk((7, 0), (HUGE, 3)),
    "part_of_fewer_dimensions": _chunk((7,), (18,)),
    "bytes_nowhere": _changed(_without_bytes),
    "bytes_of_another": _changed(_bytes_of_another),
    "bytes_beyond_the_end": _stored(offset=10**9),
    "bytes_at_wrapping_offset": _stored(offset=2**63 - 10),
    "bytes_at_negative_offset": _stored(offset=-100),
    "bytes_of_huge_length": _stored(length=2**62),
    "bytes_of_negative_length": _stored(length=-1),
    "bytes_of_no_length": _stored(length=0),
    "bytes_cut": _stored(length=300),
    "bytes_packed": _stored(transform_descriptors=["zstd"]),
    "type_of_another": _changed(_other_type),
    "path_absolute": _led(lambda folder: str(_outside(folder))),
    "path_up": _led(lambda folder: f"../{_outside(folder).name}"),
    "path_down_and_up": _led(lambda folder: f"x/../../{_outside(folder).name}"),
    "path_of_passwords": _stored(relative_path="/etc/passwd"),
    "path_of_nothing": _stored(relative_path=""),
    "path_of_the_folder": _stored(relative_path="."),
    "path_with_a_zero": _stored(relative_path="__0_0.distcp\0"),
    "path_of_a_number": _stored(relative_path=3),
    "path_not_there": _stored(relative_path="__9_9.distcp"),
    "file_is_a_pipe": _pipe,
    "file_missing": lambda folder: (folder / "__0_0.distcp").unlink(),
    "file_cut": _cut("__0_0.distcp", 0.5),
    "file_empty": _cut("__0_0.distcp", 0),
    "part_is_a_dict": _entry(lambda folder: _saved({WEIGHT: torch.zeros(7, 3)})),
    "part_is_text": _entry(lambda folder: b"no tensor\n" * 100),
    "part_of_another_shape": _entry(lambda folder: _saved(torch.zeros(3, 7))),
    "part_of_another_type": _entry(lambda folder: _saved(torch.zeros(7, 3, dtype=torch.int64))),
    "part_is_huge": _entry(lambda folder: _saved(torch.zeros(1, 1).expand(10**6, 10**6))),
    "metadata_missing": lambda folder: (folder / ".metadata").unlink(),
    "metadata_empty": _content(".metadata", b""),
    "metadata_text": _content(".metadata", b"no metadata\n" * 50),
    "metadata_of_a_dict": lambda folder: write(folder, {"state_dict_metadata": {}}),
    "metadata_of_a_list": lambda folder: write(folder, [read(folder)]),
    "metadata_without_tensors": _changed(lambda metadata: metadata.state_dict_metadata.clear()),
    "metadata_deep": _content(".metadata", b"N" + b"\x85" * 1_000_000 + b"."),
    "metadata_in_a_circle": _content(".metadata", b"}q\x00" + b"X\x01\x00\x00\x00ah\x00s."),
    **{f"metadata_cut_{percent}": _cut(".metadata", percent / 100) for percent in (1, 10, 25, 50, 75, 90, 99)},
}  # fmt: skip


def _put_nowhere_else(metadata: Metadata) -> None:
    metadata.planner_data = SLOT


def _put_as_tensor(metadata: Metadata) -> None:
    metadata.state_dict_metadata[WEIGHT] = SLOT


def _put_as_place(metadata: Metadata) -> None:
    metadata.storage_data[MetadataIndex(WEIGHT, [0, 0])] = SLOT


def _put_as_version(metadata: Metadata) -> None:
    metadata.version = SLOT


# Where in the metadata a command is put; whether the weights are still whole.
PLACES: dict[str, tuple[Callable[[Metadata], None], bool]] = {
    "planner": (_put_nowhere_else, True),
    "version": (_put_as_version, True),
    "tensor": (_put_as_tensor, False),
    "place": (_put_as_place, False),
}


def put_command(folder: Path, place: str, command: str, mark: Path) -> None:
    _changed(PLACES[place][0])(folder)
    path = folder / ".metadata"
    path.write_bytes(splice(path.read_bytes(), COMMANDS[command](str(mark))))


def put_command_for_metadata(folder: Path, command: str, mark: Path) -> None:
    (folder / ".metadata").write_bytes(COMMANDS[command](str(mark)) + b".")


def put_command_for_part(folder: Path, command: str, mark: Path) -> None:
    """In place of a tensor's bytes."""
    path = folder.parent / "part.pt"
    torch.save(SLOT, path)
    splice_file(path, COMMANDS[command](str(mark)))
    _entry(lambda _: path.read_bytes())(folder)
