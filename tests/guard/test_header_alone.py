# SPDX-License-Identifier: Apache-2.0
"""The compilation of public headers alone fails where it should."""

import os
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
CMAKE = os.environ.get("CMAKE_COMMAND", "cmake")
LISTS = f"""
cmake_minimum_required(VERSION 3.25)
project(planted LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
include({HERE}/header_alone.cmake)
foreach(room IN ITEMS low middle high)
  tally_headers_alone(${{CMAKE_SOURCE_DIR}}/rooms.txt ${{CMAKE_SOURCE_DIR}}/include ${{room}})
endforeach()
"""
TABLE = "[rooms]\nlow:\nmiddle: low\nhigh: middle\nlower: low\n"
LOW = "#pragma once\nstruct Low {};\n"
MIDDLE = "#pragma once\n#include <tally/low/a.hpp>\nstruct Middle { Low low; };\n"
HIGH = "#pragma once\n#include <tally/middle/a.hpp>\nstruct High { Middle middle; };\n"


def build(root: Path, low: str = LOW, middle: str = MIDDLE, high: str = HIGH) -> subprocess.CompletedProcess[str]:
    (root / "CMakeLists.txt").write_text(LISTS)
    (root / "rooms.txt").write_text(TABLE)
    for room, text in {"low": low, "middle": middle, "high": high}.items():
        folder = root / "include" / room / "tally" / room
        folder.mkdir(parents=True)
        (folder / "a.hpp").write_text(text)
    configure = [CMAKE, "-S", root, "-B", root / "build", "-G", "Ninja"]
    subprocess.run(configure, check=True, capture_output=True)
    return subprocess.run([CMAKE, "--build", root / "build"], capture_output=True, text=True)


def test_headers_that_keep_the_rules_compile(tmp_path: Path) -> None:
    result = build(tmp_path)
    assert result.returncode == 0, result.stdout
    assert "high_a.cpp" in result.stdout


@pytest.mark.parametrize(
    ("planted", "expected"),
    [
        ({"low": "#pragma once\ninline std::string name();\n"}, "'std'"),
        ({"low": "struct Low {};\n"}, "redefinition of 'struct Low'"),
        ({"low": "#pragma once\n#include <tally/middle/a.hpp>\n"}, "tally/middle/a.hpp: No such file"),
    ],
    ids=["needs another include", "no pragma once", "a room above"],
)
def test_planted_breach_fails(planted: dict[str, str], expected: str, tmp_path: Path) -> None:
    result = build(tmp_path, **planted)
    assert result.returncode != 0
    assert expected in result.stdout.replace("‘", "'").replace("’", "'")
