# SPDX-License-Identifier: Apache-2.0
"""Archives of torch.save that are put together wrongly, and files that were cut."""

import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

from hostile_pickles import entries

Change = Callable[[Path], None]

# PKWARE's APPNOTE.TXT, 4.3.7, 4.3.12 and 4.3.16: where things stand in the headers.
_LOCAL = {"flags": 6, "method": 8, "size": 18, "name_length": 26, "extra_length": 28, "name": 30}
_CENTRAL = {"flags": 8, "method": 10, "crc": 16, "packed_size": 20, "size": 24, "local_offset": 42, "name": 46}
_END = {"count_here": 8, "count": 10, "directory_size": 12, "directory_offset": 16}
BIAS_ENTRY = "data/conv.bias"


class _Archive:
    """The bytes of a zip, to be changed in place."""

    def __init__(self, path: Path) -> None:
        self.path, self.content = path, bytearray(path.read_bytes())
        with zipfile.ZipFile(path) as archive:
            self.infos, self.directory = archive.infolist(), archive.start_dir

    def local(self, name: str) -> int:
        return next(info.header_offset for info in self.infos if info.filename.endswith(name))

    def central(self, name: str) -> int:
        at = self.directory
        for info in self.infos:
            if info.filename.endswith(name):
                return at
            names, extra, comment = struct.unpack_from("<3H", self.content, at + 28)
            at += _CENTRAL["name"] + names + extra + comment
        raise KeyError(name)

    def put(self, at: int, form: str, value: int) -> None:
        struct.pack_into(form, self.content, at, value)

    def save(self) -> None:
        self.path.write_bytes(self.content)


def _local(name: str, field: str, form: str, value: int) -> Change:
    def change(path: Path) -> None:
        archive = _Archive(path)
        archive.put(archive.local(name) + _LOCAL[field], form, value)
        archive.save()

    return change


def _central(name: str, form: str, **fields: int) -> Change:
    def change(path: Path) -> None:
        archive = _Archive(path)
        for field, value in fields.items():
            archive.put(archive.central(name) + _CENTRAL[field], form, value)
        archive.save()

    return change


def _end(field: str, form: str, value: int) -> Change:
    def change(path: Path) -> None:
        archive = _Archive(path)
        archive.put(archive.content.rindex(b"PK\x05\x06") + _END[field], form, value)
        archive.save()

    return change


def _renamed_here(path: Path) -> None:
    archive = _Archive(path)
    at = archive.local(BIAS_ENTRY) + _LOCAL["name"]
    archive.content[at : at + 7] = b"strange"
    archive.save()


def _same_place(path: Path) -> None:
    """Two entries of the directory lead to one place."""
    archive = _Archive(path)
    archive.put(archive.central("data/norm.bias") + _CENTRAL["local_offset"], "<I", archive.local(BIAS_ENTRY))
    archive.save()


def _rewritten(rename: Callable[[str], str], method: int = zipfile.ZIP_STORED) -> Change:
    def change(path: Path) -> None:
        content = entries(path)
        with zipfile.ZipFile(path, "w", method) as archive:
            for name, data in content.items():
                archive.writestr(rename(name), data)

    return change


def _twice(name: str) -> Change:
    """A second entry of this name, with other bytes."""

    def change(path: Path) -> None:
        content = entries(path)
        with zipfile.ZipFile(path, "a") as archive:
            full = next(entry for entry in content if entry.endswith(name))
            archive.writestr(full, bytes(byte ^ 1 for byte in content[full]))

    return change


def _with_entry(name: str) -> Change:
    def change(path: Path) -> None:
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(name, "taken out of the archive")

    return change


def _without(name: str) -> Change:
    def change(path: Path) -> None:
        content = entries(path)
        with zipfile.ZipFile(path, "w") as archive:
            for entry, data in content.items():
                if not entry.endswith(name):
                    archive.writestr(entry, data)

    return change


def _big_endian(path: Path) -> None:
    content = entries(path)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, b"big" if name.endswith("byteorder") else data)


BAD_ARCHIVES: dict[str, Change] = {
    "entry_of_absolute_name": _with_entry("/tmp/mark"),
    "all_of_absolute_names": _rewritten(lambda name: "/tmp/" + name.split("/", 1)[1]),
    "compressed": _rewritten(lambda name: name, zipfile.ZIP_DEFLATED),
    "packed_by_other_means": _rewritten(lambda name: name, zipfile.ZIP_LZMA),
    "pickle_missing": _without("data.pkl"),
    "storage_missing": _without(BIAS_ENTRY),
    "of_another_byte_order": _big_endian,
    "pickle_twice": _twice("data.pkl"),
    "storage_twice": _twice(BIAS_ENTRY),
    "two_entries_in_one_place": _same_place,
    "local_name_of_another": _renamed_here,
    "local_method": _local(BIAS_ENTRY, "method", "<H", 8),
    "local_name_length": _local(BIAS_ENTRY, "name_length", "<H", 0xFFFF),
    "local_extra_length": _local(BIAS_ENTRY, "extra_length", "<H", 0xFFFF),
    "central_method": _central(BIAS_ENTRY, "<H", method=8),
    "central_encrypted": _central(BIAS_ENTRY, "<H", flags=1),
    "central_offset_beyond_the_end": _central(BIAS_ENTRY, "<I", local_offset=2**31),
    "central_offset_elsewhere": _central(BIAS_ENTRY, "<I", local_offset=7),
    "central_size_beyond_the_end": _central(BIAS_ENTRY, "<I", packed_size=2**31, size=2**31),
    "central_size_too_small": _central(BIAS_ENTRY, "<I", packed_size=48, size=48),
    "central_pickle_of_huge_size": _central("data.pkl", "<I", size=2**31),
    "end_counts_more": _end("count", "<H", 60_000),
    "end_counts_none": _end("count", "<H", 0),
    "end_offset_beyond_the_end": _end("directory_offset", "<I", 2**31),
    "end_size_beyond_the_end": _end("directory_size", "<I", 2**31),
}


# Nothing is taken out of an archive: such names lead nowhere.
HARMLESS_NAMES: dict[str, Change] = {
    "entry_up_the_folders": _with_entry("weights/../../mark"),
    "all_up_the_folders": _rewritten(lambda name: "../" + name.split("/", 1)[1]),
}


def cuts(num_bytes: int) -> dict[str, int]:
    """Where files are cut: within the first header, in all parts, just before the end."""
    parts = {f"{percent}_percent": num_bytes * percent // 100 for percent in (5, 20, 35, 50, 65, 80, 95)}
    return {"0": 0, "1": 1, "9": 9, "64": 64} | parts | {"one_less": num_bytes - 1}
