"""The rules of the house. Each check yields one line for each breach: "file:line: what is wrong"."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from house import House, includes, room_of, sources, texts

MAX_LINES = 300
LIMITED = (".cpp", ".hpp", ".cu", ".cuh", ".py", ".sh", ".cmake", "CMakeLists.txt")
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)[ \t]*(\w*)", re.MULTILINE)
# Split so that this file does not breach its own rule.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
MACHINE_PATH = re.compile(r"(?<![\w.~$}/-])/(work|root|home/\w+|tmp/w)" r"\b")


def _at(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def _without_comments(text: str) -> str:
    return re.sub(r"#.*", "", text)


def links(root: Path, house: House) -> Iterator[str]:
    """A room's CMakeLists.txt names no room that the table does not allow it."""
    for folder in sorted(path for path in (root / "src").iterdir() if path.is_dir()):
        room, file = folder.name, f"src/{folder.name}/CMakeLists.txt"
        if room not in house.rooms:
            yield f"src/{room}: no room of this name in rooms.txt"
        elif not (root / file).is_file():
            yield f"{file}: missing"
        else:
            text = _without_comments((root / file).read_text())
            uses = re.search(r"\bUSES\b([\w\s]*?)(?:\bVENDOR\b|\bSOURCES\b|\))", text)
            named = set(uses[1].split()) if uses else set()
            named |= set(re.findall(r"\btally(?:::|_)(\w+)", text)) & house.rooms.keys()
            for other in sorted(named - {room, *house.rooms[room]}):
                yield f"{file}: uses '{other}', {room} may use {', '.join(house.rooms[room]) or 'no room'}"


def room_includes(root: Path, house: House) -> Iterator[str]:
    """Headers of other rooms only as the table allows; private headers only of the own room."""
    for file, text in sources(root, "include", "src"):
        room = room_of(file)
        for include in includes(text):
            parts = include.header.split("/")
            if include.quoted:
                if file.startswith("include/") or ".." in parts:
                    yield f'{file}:{include.line}: "{include.header}" is no public header; write <tally/room/x.hpp>'
            elif parts[0] == "tally" and parts[1] not in {room, *house.rooms.get(room, ())}:
                yield f"{file}:{include.line}: <{include.header}> is of a room that {room} may not use"


def vendor_includes(root: Path, house: House) -> Iterator[str]:
    """Headers of other libraries only where the table says so."""
    for file, text in sources(root, "include", "src"):
        for include in includes(text):
            if include.quoted or include.header.startswith("tally/"):
                continue
            problem = house.header_problem(file, include.header)
            if problem:
                yield f"{file}:{include.line}: <{include.header}> {problem}"


def directives(root: Path, house: House) -> Iterator[str]:
    """No macros and no conditional compilation: CMake picks twin files instead."""
    for file, text in sources(root, "include", "src"):
        for match in DIRECTIVE.finditer(text):
            if match[1] != "include" and (match[1], match[2]) != ("pragma", "once"):
                yield f"{file}:{_at(text, match.start(1))}: #{match[1]} is not allowed here"
        if file.endswith((".hpp", ".cuh")) and not re.search(r"^#pragma once$", text, re.MULTILINE):
            yield f"{file}:1: a header without #pragma once"


def lengths(root: Path, house: House) -> Iterator[str]:
    for file, text in texts(root):
        if file.endswith(LIMITED) and text.count("\n") > MAX_LINES:
            yield f"{file}: {text.count(chr(10))} lines, at most {MAX_LINES}: split it"


def dead_files(root: Path, house: House) -> Iterator[str]:
    """Bodies and tests stand in a CMakeLists.txt, headers are included by somebody."""
    included = {
        Path(include.header).name if include.quoted else include.header
        for _, text in sources(root, "include", "src", "tests")
        for include in includes(text)
    }
    for file, _ in texts(root, "include", "src", "tests"):
        path = Path(file)
        is_python_test = file.endswith(".py") and path.name.startswith("test_")
        if file.endswith((".cpp", ".cu")) or is_python_test:
            if not _is_listed(root, path):
                yield f"{file}: in no CMakeLists.txt of its folder or above"
        elif file.endswith((".hpp", ".cuh")):
            wanted = "/".join(path.parts[2:]) if path.parts[0] == "include" else path.name
            if wanted not in included:
                yield f"{file}: nobody includes it"


def _is_listed(root: Path, path: Path) -> bool:
    """Whether the path, relative to a folder above, stands as a word in that folder's build file."""
    for folder in list(path.parents)[:-1]:
        lists = root / folder / "CMakeLists.txt"
        written = path.relative_to(folder).as_posix()
        if lists.is_file():
            words = re.split(r"[\s();\"]+", _without_comments(lists.read_text()))
            if any(word in (written, written.removesuffix(".py")) or word.endswith(f"/{written}") for word in words):
                return True
            if path.suffix == ".py" and "pytest" in words and "${CMAKE_CURRENT_SOURCE_DIR}" in words:
                return True  # pytest collects the whole folder
    # tests/support is compiled by the helpers of cmake/.
    return any(path.as_posix() in text for file, text in texts(root, "cmake"))


def unfinished(root: Path, house: House) -> Iterator[str]:
    for file, text in texts(root):
        for match in UNFINISHED.finditer(text):
            yield f"{file}:{_at(text, match.start())}: {match[0]}: finish it or leave it out"


def machine_paths(root: Path, house: House) -> Iterator[str]:
    for file, text in texts(root):
        for match in MACHINE_PATH.finditer(text):
            yield f"{file}:{_at(text, match.start())}: '{match[0]}' is a path of one machine"


Check = Callable[[Path, House], Iterator[str]]
CHECKS: tuple[Check, ...] = (
    links, room_includes, vendor_includes, directives, lengths, dead_files, unfinished, machine_paths,
)  # fmt: skip
