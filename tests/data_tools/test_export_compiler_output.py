# SPDX-License-Identifier: Apache-2.0
"""What the exporter finds out about a compiled library before it loads it."""

import os
import subprocess
from pathlib import Path

import pytest
from tally_data.errors import EnvironmentFault
from tally_export.compiler_output import check_linked

SOURCE = '#include <string>\nextern "C" void say(std::string& text, int number) { text += std::to_string(number) + "!"; }\n'


def make_library(folder: Path, *words: str) -> Path:
    source, library = folder / "say.cpp", folder / "say.so"
    source.write_text(SOURCE)
    compiler = os.environ.get("CXX", "g++")
    subprocess.run([compiler, *words, "-shared", "-fPIC", source, "-o", library], check=True)
    return library


def test_a_library_that_shares_the_cpp_library_is_taken(tmp_path: Path) -> None:
    check_linked(make_library(tmp_path))


def test_a_cpp_library_of_its_own_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = make_library(tmp_path, "-static-libstdc++", "-static-libgcc")
    with pytest.raises(EnvironmentFault, match=r"links a C\+\+ library of its own .* CXX"):
        check_linked(library)
    monkeypatch.setenv("PATH", str(tmp_path))
    check_linked(library)  # without readelf nothing can be said
