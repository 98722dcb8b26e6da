# SPDX-License-Identifier: Apache-2.0
"""The table of rooms.txt, the files of a source tree, and what an include line asks for."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

SOURCE_SUFFIXES = (".cpp", ".hpp", ".cu", ".cuh")
FOLDERS = ("include", "src", "tests", "cmake", "data_tools", "jobs", "examples", "docs", "packaging", ".ci")
TEXT_SUFFIXES = (
    *SOURCE_SUFFIXES, ".c", ".h", ".py", ".sh", ".cmake", ".txt", ".md", ".in", ".json", ".toml", ".yml", ".sbatch", ".def",
    ".example",
)  # fmt: skip
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


@dataclass(frozen=True)
class House:
    """Who may use whom: rooms.txt read once."""

    rooms: dict[str, tuple[str, ...]]
    vendors: dict[str, tuple[str, ...]]
    system: tuple[str, ...]

    @staticmethod
    def read(path: Path) -> "House":
        sections: dict[str, list[str]] = {"rooms": [], "vendors": [], "system": []}
        current = "rooms"
        for line in path.read_text().splitlines():
            if line.startswith("["):
                current = line.strip("[] ")
            elif line.strip() and not line.startswith("#"):
                sections[current].append(line)
        split = {name: [line.partition(":") for line in sections[name]] for name in ("rooms", "vendors")}
        rooms = {key: tuple(rest.split()) for key, _, rest in split["rooms"]}
        vendors = {key: tuple(rest.split()) for key, _, rest in split["vendors"]}
        return House(rooms, vendors, tuple(" ".join(sections["system"]).split()))

    def vendor_of(self, header: str) -> str | None:
        """The row of the table that `header` belongs to: the longest beginning; None where no row has it."""
        matching = [prefix for prefix in self.vendors if header.startswith(prefix)]
        return max(matching, key=len, default=None)

    def header_problem(self, file: str, header: str) -> str | None:
        """Why `file` may not include <header>; None if it may."""
        if "." not in header and "/" not in header:
            return None
        vendor = self.vendor_of(header)
        if vendor is None:
            known = any(header == name or name.endswith("/") and header.startswith(name) for name in self.system)
            return None if known else "is of a library that rooms.txt does not name"
        allowed = self.vendors[vendor]
        if any(fnmatch(file, pattern) for pattern in allowed):
            return None
        return f"may stand in {', '.join(allowed)} only"


@dataclass(frozen=True)
class Include:
    line: int
    quoted: bool
    header: str


def includes(text: str) -> Iterator[Include]:
    for match in INCLUDE.finditer(text):
        yield Include(text.count("\n", 0, match.start(2)) + 1, match[1] == '"', match[2])


def room_of(file: str) -> str:
    """"src/exact/sum.cpp" and "include/tally/exact/sum.hpp" are in the room "exact"."""
    return file.removeprefix("include/").split("/")[1]


def sources(root: Path, *folders: str) -> Iterator[tuple[str, str]]:
    """(path from root, text) of the C++ and CUDA files below the folders."""
    for file, text in texts(root, *folders):
        if file.endswith(SOURCE_SUFFIXES):
            yield file, text


def texts(root: Path, *folders: str) -> Iterator[tuple[str, str]]:
    """(path from root, text) of all text files below the folders, and at the top if none is given."""
    # In a worktree .git is a file, whose text is a path of the machine.
    top = [path for path in root.iterdir() if path.is_file() and path.name != ".git"] if not folders else []
    below = [path for folder in folders or FOLDERS for path in sorted((root / folder).rglob("*"))]
    for path in top + below:
        parts = path.relative_to(root).parts
        if path.is_file() and "__pycache__" not in parts and (path.suffix in TEXT_SUFFIXES or not path.suffix):
            yield "/".join(parts), path.read_text(encoding="utf-8", errors="replace")
