# SPDX-License-Identifier: Apache-2.0
"""The rules of the house. Each check yields one line for each breach: "file:line: what is wrong"."""

import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path

from house import House, includes, room_of, sources, texts

MAX_LINES = 300
LIMITED = (".cpp", ".hpp", ".cu", ".cuh", ".py", ".sh", ".cmake", "CMakeLists.txt")
LICENSED = (*LIMITED, ".c", ".h", ".sbatch", ".def", ".example", ".in", ".yml", ".ci/run", "archive/tally")
LICENCE = "SPDX-License-" "Identifier: Apache-2.0"
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)[ \t]*(\w*)", re.MULTILINE)
# Split so that this file does not breach its own rule.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
WHOLE_TREE = re.compile(
    r"(?:\$\{(?:PROJECT|CMAKE|TALLY)_SOURCE_DIR\}|\$\{CMAKE_CURRENT_SOURCE_DIR\}(?:/\.\.)+)/include(?!/tally/|\w)"
)
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
            named = set(re.findall(r"\btally(?:::|_)(\w+)", text)) & house.rooms.keys()
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


def include_roots(root: Path, house: House) -> Iterator[str]:
    """No target sees the headers of all rooms: it is given the include root of each room that it uses."""
    for file, text in texts(root, "cmake", "src", "tests"):
        for match in WHOLE_TREE.finditer(text) if file.endswith((".cmake", "CMakeLists.txt")) else ():
            yield f"{file}:{_at(text, match.start())}: {match[0]} holds the headers of all rooms; see TALLY_INCLUDE_ROOTS"


def unused_permissions(root: Path, house: House) -> Iterator[str]:
    """What the table allows is made use of: an arrow that nobody needs is none."""
    used = {(room_of(file), include.header.split("/")[1])
            for file, text in sources(root, "include", "src")
            for include in includes(text) if include.header.startswith("tally/")}  # fmt: skip
    for room, allowed in house.rooms.items():
        for other in allowed if (root / "src" / room).is_dir() else ():
            if (room, other) not in used:
                yield f"src/rooms.txt: {room} may use {other}, and includes nothing of it"
    files = [(file, {house.vendor_of(include.header) for include in includes(text) if not include.quoted})
             for file, text in sources(root, "include", "src")]  # fmt: skip
    for vendor, patterns in house.vendors.items():
        for pattern in patterns:
            found = [vendors for file, vendors in files if fnmatch(file, pattern)]
            if found and not any(vendor in vendors for vendors in found):
                yield f"src/rooms.txt: {pattern} may include <{vendor}…>, and does not"


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


def licences(root: Path, house: House) -> Iterator[str]:
    """Every program text says its licence in the first line, or after the one that says how it is run."""
    for file, text in texts(root):
        if file.endswith(LICENSED) and LICENCE not in "".join(text.splitlines(keepends=True)[:2]):
            yield f"{file}:1: without '{LICENCE}'"


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
            wanted = "/".join(path.parts[1:]) if path.parts[0] == "include" else path.name
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
            if path.suffix == ".py" and {"GLOB_RECURSE", "test_*.py"} <= set(words):
                return True
    # tests/support is compiled by the helpers of cmake/.
    return any(path.as_posix() in text for file, text in texts(root, "cmake"))


TASKS = "src/base/task_traits.cpp"


def task_names(root: Path, house: House) -> Iterator[str]:
    """Names of tasks stand in their table alone: other files ask for a trait, or compare the kind."""
    table = root / TASKS
    names = re.findall(r'\.name = "([\w-]+)"', table.read_text()) if table.is_file() else []
    quoted = re.compile(f'"({"|".join(names)})"')
    for file, text in sources(root, "include", "src") if names else ():
        if file == TASKS:
            continue
        for match in quoted.finditer(text):
            yield f"{file}:{_at(text, match.start())}: {match[0]} stands in {TASKS} alone"


# The phase "count_again" is a key of reports.
RETIRED = re.compile(
    r"\b(\w*figures?|kept_\w*|(?!count_again)\w+_again|untold|rehears\w*|\w*master|foretold|somebody|whoever|surprise|scores_units|"
    r"takes_any_order|examine_\w+|rank_sums|painter)\b",
    re.IGNORECASE,
)


def retired_words(root: Path, house: House) -> Iterator[str]:
    """Words that docs/glossary.md has better ones for do not come back."""
    for file, text in sources(root, "include", "src"):
        for match in RETIRED.finditer(text):
            yield f"{file}:{_at(text, match.start())}: '{match[0]}' is retired, see docs/glossary.md"


def unfinished(root: Path, house: House) -> Iterator[str]:
    for file, text in texts(root):
        for match in UNFINISHED.finditer(text):
            yield f"{file}:{_at(text, match.start())}: {match[0]}: finish it or leave it out"


def machine_paths(root: Path, house: House) -> Iterator[str]:
    for file, text in texts(root):
        for match in MACHINE_PATH.finditer(text):
            yield f"{file}:{_at(text, match.start())}: '{match[0]}' is a path of one machine"


LINK = re.compile(r"\]\(([^)\s:]*?)(?:#([^)\s]*))?\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def _anchors(text: str) -> set[str]:
    """Of the headings, as the usual hosts make them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def document_links(root: Path, house: House) -> Iterator[str]:
    """Links between documents lead to files, and to headings that these have."""
    for file, text in texts(root):
        for match in LINK.finditer(text) if file.endswith(".md") else ():
            target = (root / file).parent / match[1] if match[1] else root / file
            if not target.exists():
                yield f"{file}:{_at(text, match.start())}: there is no '{match[1]}'"
            elif match[2] and target.suffix == ".md" and match[2] not in _anchors(target.read_text()):
                yield f"{file}:{_at(text, match.start())}: no heading of {target.name} makes '#{match[2]}'"


SOURCE_NAME = re.compile(r"`([\w/]+\.(?:cpp|hpp|cu))`")


def document_names(root: Path, house: House) -> Iterator[str]:
    """Sources that documents name, by the ends of their paths, exist."""
    files = [f"/{file}" for file, _ in texts(root)]
    for file, text in texts(root):
        for match in SOURCE_NAME.finditer(text) if file.endswith(".md") else ():
            if not any(path.endswith(f"/{match[1]}") for path in files):
                yield f"{file}:{_at(text, match.start())}: there is no '{match[1]}'"


def document_tables(root: Path, house: House) -> Iterator[str]:
    """The table of rooms in docs/architecture.md, and the lists of documents and of decisions, are whole."""
    page = root / "docs" / "architecture.md"
    rows = re.findall(r"^\| (\w+) \|[^|]*\| ([\w, –]+) \|", page.read_text(), re.MULTILINE) if page.is_file() else []
    shown = {room: tuple(re.findall(r"\w+", used)) for room, used in rows if room != "room"}
    for room in sorted(house.rooms.keys() | shown.keys()) if page.is_file() else ():
        if shown.get(room) != house.rooms.get(room):
            yield f"docs/architecture.md: {room} may use {', '.join(shown.get(room, ())) or 'nothing'}, not as in src/rooms.txt"
    for index in (root / "docs" / "README.md", root / "docs" / "decisions" / "README.md"):
        for path in sorted(index.parent.glob("*.md")) if index.is_file() else ():
            if path != index and f"({path.name})" not in index.read_text():
                yield f"{index.relative_to(root)}: does not list {path.name}"


Check = Callable[[Path, House], Iterator[str]]
CHECKS: tuple[Check, ...] = (
    links, room_includes, include_roots, unused_permissions, vendor_includes, directives, lengths, licences, dead_files,
    task_names, retired_words, unfinished, machine_paths, document_links, document_names,
    document_tables,
)  # fmt: skip
