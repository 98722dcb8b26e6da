# SPDX-License-Identifier: Apache-2.0
"""The folder that a file system may have after a power cut, of what a job has synced (tests/support/faults/synced_files.h).

What is not synced may be on the disk or not: a name, the bytes of a file, or both. A rename is one step, as all file
systems with a journal have it: the file has one of its two names.
"""

import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

# What is on the disk of what was not synced: nothing; names without bytes; names and half of the bytes; names, and zeros
# in place of bytes; at random.
VARIANTS = ("synced", "names", "torn", "zeros", "mixed")


def begin_journal(journal: Path, folder: Path) -> None:
    """What lies in `folder` now is on the disk."""
    journal.mkdir()
    lines = []
    for number, path in enumerate([folder, *sorted(folder.rglob("*"))]):
        inode = path.stat().st_ino
        if path.is_dir():
            names = "".join(f" {entry.name}/{'d' * entry.is_dir()}{entry.stat().st_ino}" for entry in path.iterdir())
            lines.append(f"D {inode}{names}\n")
        else:
            shutil.copyfile(path, journal / f"copy-{number}")
            lines.append(f"F {inode} copy-{number}\n")
    (journal / "journal").write_text("".join(lines))


def was_cut(journal: Path) -> bool:
    return "\nC\n" in (journal / "journal").read_text()


@dataclass
class _Disk:
    names: dict[int, dict[str, int]] = field(default_factory=dict)  # of folders, by inode
    bytes: dict[int, bytes] = field(default_factory=dict)  # of files, by inode

    @staticmethod
    def synced(journal: Path) -> "_Disk":
        disk = _Disk()
        for line in (journal / "journal").read_text().splitlines():
            kind, *words = line.split(" ")
            if kind == "C":
                break
            if kind == "F":
                disk.bytes[int(words[0])] = (journal / words[1]).read_bytes()
            else:
                entries = (word.rpartition("/") for word in words[1:])
                found = {name: inode for name, _, inode in entries}
                disk.names[int(words[0])] = {name: int(inode.lstrip("d")) for name, inode in found.items()}
                for inode in (int(inode[1:]) for inode in found.values() if inode.startswith("d")):
                    disk.names.setdefault(inode, {})
        return disk

    @staticmethod
    def current(folder: Path) -> "_Disk":
        disk = _Disk()
        for path in (folder, *folder.rglob("*")):
            inode = path.stat().st_ino
            if path.is_dir():
                disk.names[inode] = {entry.name: entry.stat().st_ino for entry in path.iterdir()}
            else:
                disk.bytes[inode] = path.read_bytes()
        return disk


def _torn(synced: bytes, current: bytes) -> bytes:
    if not current.startswith(synced):
        return current[: len(current) // 2]
    return current[: (len(synced) + len(current)) // 2]


def _zeros(synced: bytes, current: bytes) -> bytes:
    kept = synced if current.startswith(synced) else b""
    return kept + bytes(len(current) - len(kept))


_BYTES: dict[str, Callable[[bytes, bytes], bytes]] = {
    "synced": lambda synced, current: synced,
    "names": lambda synced, current: synced,
    "torn": _torn,
    "zeros": _zeros,
    "whole": lambda synced, current: current,
}


class _Left:
    """Decides what is left, and writes it."""

    def __init__(self, synced: _Disk, current: _Disk, variant: str, draw: random.Random) -> None:
        self.synced, self.current, self.variant, self.draw = synced, current, variant, draw
        self.names: dict[int, dict[str, int]] = {}

    def choose(self, top: int) -> None:
        if self.variant != "mixed":
            self.names = self.synced.names if self.variant == "synced" else self.current.names
            return
        moved = self._moved(top)
        for inode in self.synced.names.keys() | self.current.names.keys():
            old, new = self.synced.names.get(inode, {}), self.current.names.get(inode, {})
            kept: dict[str, int] = {}
            for name in sorted(old.keys() | new.keys()):
                for found, is_new in ((old.get(name), False), (new.get(name), True)):
                    if found is not None and moved.get(found, is_new) == is_new:
                        kept[name] = found
            self.names[inode] = kept

    def _moved(self, top: int) -> dict[int, bool]:
        """Whether what had another name when its folder was synced has the new one."""
        places = [{(inode, name, child) for inode, names in disk.names.items() for name, child in names.items()}
                  for disk in (self.synced, self.current)]  # fmt: skip
        changed = sorted({child for _, _, child in places[0] ^ places[1]})
        return {child: self.draw.random() < 0.5 for child in changed if child != top}

    def content(self, inode: int) -> bytes:
        synced = self.synced.bytes.get(inode, b"")
        current = self.current.bytes.get(inode, synced)
        if current == synced:
            return synced
        how = self.draw.choice(sorted(_BYTES)) if self.variant == "mixed" else self.variant
        return _BYTES[how](synced, current)

    def write(self, inode: int, path: Path) -> None:
        if inode not in self.synced.names and inode not in self.current.names:
            path.write_bytes(self.content(inode))
            return
        path.mkdir()
        for name, child in sorted(self.names.get(inode, {}).items()):
            self.write(child, path / name)


def write_left(journal: Path, folder: Path, variant: str, target: Path, seed: int = 0) -> None:
    """`folder` is as the processes left it that the power cut has killed."""
    left = _Left(_Disk.synced(journal), _Disk.current(folder), variant, random.Random(seed))
    top = folder.stat().st_ino
    left.choose(top)
    left.write(top, target)
