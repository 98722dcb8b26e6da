# SPDX-License-Identifier: Apache-2.0
"""Which heavy tests are chosen, and what is kept of them."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import heavy  # noqa: E402

TABLE = {
    "end_to_end.test_packages": heavy.Passed("a1", "2026-11-01", 100),
    "end_to_end.test_watch": heavy.Passed("a1", "2026-11-02", 30),
    "scripts.contact_rehearsal": heavy.Passed("b2", "2026-11-03", 60),
}
LISTS = """
cmake_minimum_required(VERSION 3.25)
project(planted LANGUAGES NONE)
enable_testing()
foreach(name IN ITEMS quick long.passes long.fails long.waits)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E true)
endforeach()
add_test(NAME long.breaks COMMAND ${CMAKE_COMMAND} -E false)
set_tests_properties(long.passes long.fails long.waits long.breaks PROPERTIES LABELS "end_to_end;heavy")
"""


def test_the_table_is_read_as_it_is_written() -> None:
    text = heavy.as_text(TABLE)
    assert heavy.read_table(text) == TABLE
    assert heavy.as_text(heavy.read_table(text)) == text


@pytest.mark.parametrize(
    ("test", "path", "is_about"),
    [
        ("end_to_end.test_packages", "src/model/aoti/package.cpp", True),
        ("end_to_end.test_watch", "src/watch/leaderboard.cpp", True),
        ("end_to_end.test_watch", "tests/end_to_end/test_watch.py", True),
        ("end_to_end.test_watch", "tests/end_to_end/test_weights.py", False),
        ("end_to_end.test_watch", "README.md", False),
        ("guard.headers_alone", "include/tally/base/error.hpp", True),
        ("guard.headers_alone", "src/base/error.cpp", False),
    ],
)
def test_what_a_test_is_about(test: str, path: str, is_about: bool) -> None:
    assert heavy.is_about(test, [path]) == is_about


def test_unknown_and_changed_ones_come_first() -> None:
    changed = {"end_to_end.test_watch": ["src/watch/scan.cpp"]}
    for revision in ("a", "b", "c", "d"):
        order = heavy.in_order([*TABLE, "end_to_end.test_new"], TABLE, changed, revision)
        assert order[:2] == ["end_to_end.test_new", "end_to_end.test_watch"]
        assert order == heavy.in_order([*reversed(TABLE), "end_to_end.test_new"], TABLE, changed, revision)
    assert len({tuple(heavy.in_order([*TABLE], TABLE, {}, str(revision))) for revision in range(20)}) > 1


def test_what_does_not_fit_is_passed_over() -> None:
    assert heavy.fitting([*TABLE], TABLE, 130) == ["end_to_end.test_packages", "end_to_end.test_watch"]
    assert heavy.fitting([*TABLE, "new"], TABLE, 95) == ["end_to_end.test_watch", "scripts.contact_rehearsal"]
    unknown = ["new", "newer", "newest"]
    assert heavy.fitting([*unknown, *TABLE], TABLE, 4 * heavy.UNKNOWN_SECONDS) == [*unknown[:2], *TABLE]


@pytest.fixture
def build(tmp_path: Path) -> Path:
    (tmp_path / "CMakeLists.txt").write_text(LISTS)
    subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "build"], check=True, capture_output=True)
    return tmp_path / "build"


def test_the_regular_expression_runs_the_gate_and_what_fits(
    build: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = {f"long.{name}": heavy.Passed("none", "2026-11-01", 1000) for name in ("passes", "breaks", "waits")}
    monkeypatch.setattr(heavy, "TABLE", build / "heavy.txt")
    heavy.TABLE.write_text(heavy.as_text(table))
    monkeypatch.setattr(heavy.os, "sched_getaffinity", lambda _: {0, 1})
    wanted = heavy.choose(build, heavy.UNKNOWN_SECONDS)
    assert "1 of 4 run; left out: long.breaks long.passes long.waits" in capsys.readouterr().err
    ran = subprocess.run(["ctest", "--test-dir", build, "-R", wanted], capture_output=True, text=True, check=True).stdout
    assert "100% tests passed, 0 tests failed out of 2" in ran


def test_only_what_passed_is_kept(build: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = heavy.Passed("0123456789ab", "2026-11-01", 5)
    monkeypatch.setattr(heavy, "TABLE", build / "heavy.txt")
    heavy.TABLE.write_text(heavy.as_text({"long.breaks": old, "long.waits": old, "long.gone": old}))
    junit = build / "tests.xml"
    ran = subprocess.run(["ctest", "--test-dir", build, "-R", "quick|passes|breaks", "--output-junit", junit], capture_output=True)
    assert ran.returncode != 0
    heavy.record(build, junit)
    table = heavy.read_table(heavy.TABLE.read_text())
    assert table.keys() == {"long.passes", "long.breaks", "long.waits"}
    assert table["long.breaks"] == table["long.waits"] == old
    assert heavy.commits_since(table["long.passes"].revision) == 0


def test_stale_ones_are_named(build: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    revision = heavy.git("rev-parse", "HEAD").strip()
    monkeypatch.setattr(heavy, "TABLE", build / "heavy.txt")
    entries = {"long.passes": revision, "long.fails": revision, "long.breaks": "0" * 12}
    heavy.TABLE.write_text(heavy.as_text({name: heavy.Passed(one, "2026-11-01", 5) for name, one in entries.items()}))
    since = {revision: 0, "0" * 12: None}
    monkeypatch.setattr(heavy, "commits_since", since.get)
    assert heavy.stale(build) == ["long.breaks is not known to have passed", "long.waits is not known to have passed"]
    since[revision] = heavy.MOST_COMMITS + 1
    assert "long.fails last passed 151 commits ago, on 2026-11-01" in heavy.stale(build)
