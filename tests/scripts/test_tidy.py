# SPDX-License-Identifier: Apache-2.0
"""Which compile commands clang-tidy is given."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import tidy  # noqa: E402

LISTS = """
cmake_minimum_required(VERSION 3.25)
project(planted LANGUAGES CXX)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
add_library(room STATIC a.cpp b.cpp alone.cpp)
target_precompile_headers(room PRIVATE <vector>)
target_compile_options(room PRIVATE -Wall -Wno-subobject-linkage)
set_target_properties(room PROPERTIES UNITY_BUILD ON)
set_source_files_properties(alone.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
"""


def test_bodies_that_are_compiled_together_are_looked_at_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(LISTS)
    bodies = [tmp_path / name for name in ("a.cpp", "alone.cpp", "b.cpp")]
    for body in bodies:
        body.write_text("int one();\n")
    build = tmp_path / "build"
    subprocess.run(["cmake", "-G", "Ninja", "-S", tmp_path, "-B", build], check=True, capture_output=True)
    assert "Unity/unity_0_cxx.cxx" in (build / "compile_commands.json").read_text()

    commands = {entry["file"]: entry["command"] for entry in tidy.commands_for_clang(build)}
    assert [str(body) for body in bodies] == sorted(file for file in commands if file in map(str, bodies))
    assert not any("Unity" in file for file in commands)
    for body in bodies:
        words = commands[str(body)].split()
        assert words[-2:] == ["-c", str(body)]
        assert "-Wall" in words
        assert "-Wno-subobject-linkage" not in words  # which clang does not know
        assert not any("cmake_pch" in word for word in words)


def test_a_pass_holds_until_the_file_or_a_header_changes(tmp_path: Path) -> None:
    entry = {"file": str(tmp_path / "a.cpp"), "command": "c++ -o both.o -c a.cpp"}
    for name in ("a.cpp", "b.cpp", "unity_0_cxx.cxx", "both.hpp"):
        (tmp_path / name).write_text("int one();\n")

    def mark() -> Path:
        return tidy.pass_mark(tmp_path, entry, {"both.o": ["a.cpp", "b.cpp", "unity_0_cxx.cxx", "both.hpp"]}, b"")

    before = mark()
    for name, holds in {"b.cpp": True, "unity_0_cxx.cxx": True, "both.hpp": False, "a.cpp": False}.items():
        (tmp_path / name).write_text("int two();\n")
        assert (mark() == before) is holds, name
        before = mark()
