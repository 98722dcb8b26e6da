# SPDX-License-Identifier: Apache-2.0
"""The house is kept; and each guard fails on a planted breach, so that its silence means something."""

import re
import sys
from pathlib import Path

import pytest
from checks import CHECKS, LICENCE, LICENSED
from house import House

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "src" / "rooms.txt"
BY_NAME = {check.__name__: check for check in CHECKS}


@pytest.fixture(scope="session")
def house() -> House:
    return House.read(TABLE)


@pytest.mark.parametrize("name", BY_NAME)
def test_house_is_kept(name: str, house: House) -> None:
    breaches = list(BY_NAME[name](ROOT, house))
    assert not breaches, "\n" + "\n".join(breaches)


def test_table_has_no_cycle_and_no_unknown_room(house: House) -> None:
    order = list(house.rooms)
    for room, uses in house.rooms.items():
        for other in uses:
            assert order.index(other) < order.index(room), f"{room} uses {other}, which stands below it"


def test_the_picture_of_the_rooms_is_that_of_the_table() -> None:
    sys.path.insert(0, str(ROOT / "docs" / "pictures"))
    import draw

    drawn = re.findall(r"<title>(\w+)&#45;&gt;(\w+)</title>", (ROOT / "docs" / "pictures" / "rooms.svg").read_text())
    assert sorted(drawn) == sorted(draw.arrows(draw.allowed())), "run docs/pictures/draw.py"


GOOD_TREE = {
    "src/base/CMakeLists.txt": "tally_room(base SOURCES error.cpp task_traits.cpp)\n",
    "src/base/error.cpp": '#include <unistd.h>\n\n#include <string>\n\n#include <spdlog/spdlog.h>\n#include <tally/base/error.hpp>\n\n'
    '#include "parts.hpp"\n',
    "src/base/parts.hpp": "#pragma once\n",
    "src/base/task_traits.cpp": 'TaskTraits{.kind = TaskKind::predict, .name = "predict"}\n',
    "include/tally/base/error.hpp": "#pragma once\n\n#include <string>\n",
    "src/digest/CMakeLists.txt": "tally_room(digest SOURCES sha.cpp  # twin\n  VENDOR OpenSSL::Crypto)\n",
    "src/digest/sha.cpp": "#include <isa-l/crc.h>\n#include <openssl/evp.h>\n#include <tally/digest/sha.hpp>\n"
    "#include <nlohmann/json.hpp>\n",
    "include/tally/digest/sha.hpp": "#pragma once\n#include <tally/base/error.hpp>\n",
    "tests/digest/CMakeLists.txt": "tally_test(sha_test SOURCES sha_test.cpp USES digest)\n",
    "tests/digest/sha_test.cpp": "#include <gtest/gtest.h>\n#if 1\n#endif\n",
    "tests/tools/CMakeLists.txt": "add_test(NAME t COMMAND python -m pytest ${CMAKE_CURRENT_SOURCE_DIR})\n",
    "tests/tools/test_tools.py": "\n",
    "README.md": "Install to /usr/local, or anywhere else; notes in ~/root-cause/.\n"
    "[more](docs/more.md#what-its-for), [here](#a), https://example.org/a(b).\n# A\n",
    "docs/more.md": "# More\n\n## What it's for\n",
    "docs/decisions/001-first.md": "# First\n",
}


def plant(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_good_tree_is_silent(tmp_path: Path, house: House) -> None:
    comments = {name: "//" if name.endswith(("pp", ".cu")) else "#" for name in GOOD_TREE if name.endswith(LICENSED)}
    plant(tmp_path, GOOD_TREE | {name: f"{mark} {LICENCE}\n{GOOD_TREE[name]}" for name, mark in comments.items()})
    assert [breach for check in CHECKS for breach in check(tmp_path, house)] == []


# check, file, its text, a part of the line that must come out
BREACHES = [
    ("links", "src/base/CMakeLists.txt", "target_link_libraries(tally_base PUBLIC tally_digest)\n", "uses 'digest'"),
    ("links", "src/base/CMakeLists.txt", "target_link_libraries(tally_base PUBLIC tally::exact)\n", "uses 'exact'"),
    ("links", "src/attic/CMakeLists.txt", "tally_room(attic)\n", "src/attic: no room"),
    ("links", "src/exact/sum.cpp", "\n", "src/exact/CMakeLists.txt: missing"),
    ("room_includes", "src/base/error.cpp", "#include <tally/digest/sha.hpp>\n", "src/base/error.cpp:1"),
    ("room_includes", "include/tally/base/error.hpp", "\n#  include <tally/comm/a.hpp>\n", "error.hpp:2"),
    ("room_includes", "src/base/error.cpp", '#include "../digest/inner.hpp"\n', "no public header"),
    ("room_includes", "include/tally/base/error.hpp", '#include "inner.hpp"\n', "no public header"),
    ("include_roots", "src/base/CMakeLists.txt", "include(${PROJECT_SOURCE_DIR}/include)\n", "the headers of all rooms"),
    ("include_roots", "src/base/CMakeLists.txt", "include(${CMAKE_CURRENT_SOURCE_DIR}/../../include)\n", "the headers of all"),
    ("unused_permissions", "include/tally/digest/sha.hpp", "#pragma once\n", "digest may use base"),
    ("unused_permissions", "src/digest/sha.cpp", "#include <openssl/evp.h>\n", "src/digest/* may include <isa-l/"),
    ("vendor_includes", "src/base/error.cpp", "#include <mpi.h>\n", "<mpi.h> may stand in src/comm/*"),
    ("vendor_includes", "src/digest/sha.cpp", "\n#include <torch/script.h>\n", "sha.cpp:2"),
    ("vendor_includes", "src/digest/sha.cpp", "#include <c10/util/Half.h>\n", "src/model/*"),
    ("vendor_includes", "src/digest/sha.cpp", "#include <hdf5.h>\n", "src/hdf5/*"),
    ("vendor_includes", "src/digest/sha.cpp", "#include <boost/multiprecision/cpp_int.hpp>\n", "src/exact"),
    ("vendor_includes", "src/digest/sha.cpp", "#include <boost/asio.hpp>\n", "does not name"),
    ("vendor_includes", "src/digest/sha.cpp", "#include <fmt/format.h>\n", "format.hpp"),
    ("vendor_includes", "src/digest/sha.cpp", "#include <nccl.h>\n", "src/comm/*"),
    ("vendor_includes", "src/digest/sha.cpp", "#include <zlib.h>\n", "does not name"),
    ("vendor_includes", "include/tally/digest/sha.hpp", "#include <nlohmann/json.hpp>\n", "may stand in src"),
    ("vendor_includes", "include/tally/digest/sha.hpp", "#include <openssl/evp.h>\n", "src/digest/*"),
    ("directives", "src/base/error.cpp", "int a;\n#ifdef WITH_CUDA\n#endif\n", "error.cpp:2: #ifdef"),
    ("directives", "src/base/error.cpp", "  # if 0\n", "#if"),
    ("directives", "src/base/error.cpp", "#define TWICE(x) x x\n", "#define"),
    ("directives", "include/tally/base/error.hpp", "int a();\n", "without #pragma once"),
    ("lengths", "src/base/error.cpp", "\n" * 301, "301 lines"),
    ("lengths", "data_tools/tool.py", "\n" * 301, "301 lines"),
    ("licences", "src/base/error.cpp", "#include <string>\n", "src/base/error.cpp:1: without"),
    ("licences", "jobs/run.sh", f"#!/bin/sh\n#\n# {LICENCE}\n", "jobs/run.sh:1: without"),
    ("licences", "src/base/CMakeLists.txt", "tally_room(base)\n", "without"),
    ("dead_files", "src/base/forgotten.cpp", "\n", "forgotten.cpp: in no CMakeLists.txt"),
    ("dead_files", "src/base/CMakeLists.txt", "# error.cpp\ntally_room(base task_traits.cpp)\n", "error.cpp: in no"),
    ("dead_files", "tests/digest/test_more.py", "\n", "test_more.py: in no"),
    ("dead_files", "src/base/unused.hpp", "#pragma once\n", "unused.hpp: nobody includes it"),
    ("dead_files", "include/tally/base/unused.hpp", "#pragma once\n", "unused.hpp: nobody includes it"),
    ("task_names", "src/digest/sha.cpp", 'bool is = task == "predict";\n', 'sha.cpp:1: "predict" stands in'),
    ("retired_words", "src/base/error.cpp", "int a;\n// Whoever calls it.\n", "error.cpp:2: 'Whoever' is retired"),
    ("retired_words", "src/base/error.cpp", "int kept_rows;\n", "'kept_rows'"),
    ("retired_words", "src/base/error.cpp", "void count_again();\nvoid layout_again();\n", "error.cpp:2"),
    ("retired_words", "src/base/error.cpp", "void load_master();\n", "'load_master'"),
    ("unfinished", "src/base/error.cpp", "int a;  // TO" "DO: more\n", "error.cpp:1"),
    ("unfinished", "jobs/run.sh", "# FIX" "ME\n", "run.sh:1"),
    ("machine_paths", "docs/start.md", "cd /ro" "ot/tally\n", "start.md:1"),
    ("machine_paths", "cmake/Find.cmake", 'set(x "/wo' 'rk/main")\n', "Find.cmake:1"),
    ("machine_paths", "README.md", "\n/ho" "me/ada/tally\n", "README.md:2"),
    ("document_links", "README.md", "\n[a](docs/none.md)\n", "README.md:2: there is no"),
    ("document_links", "README.md", "\n[a](docs/more.md#how)\n", "README.md:2: no heading of more.md"),
    ("document_links", "README.md", "[a](#what-not)\n", "no heading of README.md makes '#what-not'"),
    ("document_names", "docs/more.md", "\n`base/error.cpp` and `old/error.cpp`\n", "more.md:2: there is no 'old/error.cpp'"),
    ("document_tables", "docs/architecture.md", "| room | holds | may use |\n| base | a | digest |\n", "base may use digest"),
    ("document_tables", "docs/README.md", "[more](less.md)\n", "does not list more.md"),
    ("document_tables", "docs/decisions/README.md", "\n", "does not list 001-first.md"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "file", "text", "expected"), BREACHES)
def test_planted_breach_is_found(
    check: str, file: str, text: str, expected: str, tmp_path: Path, house: House
) -> None:
    plant(tmp_path, GOOD_TREE | {file: text})
    breaches = list(BY_NAME[check](tmp_path, house))
    assert any(expected in breach for breach in breaches), breaches
