# SPDX-License-Identifier: Apache-2.0
"""Which random edits tests/long/mutations.py draws, and that none is left in the sources."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "long"))

import mutations  # noqa: E402
import random_edits  # noqa: E402

BODY = """// 1 < 2
#include <vector>  // of 3
namespace tally {
struct Pair {
  int first = 4;
};
int sum(const std::vector<int>& values, Pair&& pair) {
  const char* text = "a < b, 5";
  int total{pair.first};
  if (values.size() <= 6 && total != 0) total += max(values[0], 10);  // 7 + 8
  total = 9;
  return total;
}
}  // namespace tally
"""


def drawn(text: str = BODY) -> set[tuple[str, str]]:
    return {(edit.old, edit.new) for edit in random_edits.edits_of("a.cpp", text)}


@pytest.mark.parametrize(
    "expected",
    [
        ("4", "5"),
        ("6", "5"),
        ("<=", "<"),
        ("&&", "||"),
        ("!=", "=="),
        ("+=", "-="),
        ("max", "min"),
        ("values[0], 10", "10, values[0]"),
        ("values.size() <= 6 && total != 0", "!(values.size() <= 6 && total != 0)"),
        ("total = 9;", "{}"),
        ('total += max(values[0], 10);', "{}"),
    ],
)
def test_an_edit_of_each_kind_is_drawn(expected):
    assert expected in drawn()


def test_comments_strings_includes_templates_and_declarations_stay():
    changed = {old for old, _ in drawn()}
    assert not changed & {"1", "2", "3", "5", "7", "8", "<", ">", "&", "*", "const char* text", "int total{pair.first};", "return total;"}


def test_every_edit_changes_one_place():
    for edit in random_edits.edits_of("a.cpp", BODY):
        after = edit.of(BODY)
        assert after != BODY
        assert after.startswith(BODY[: edit.start] + edit.new)
        assert after.endswith(BODY[edit.start + len(edit.old) :])
        assert edit.line_after(BODY) in " ".join(after.split())


def test_the_same_number_draws_the_same_edit():
    for room in mutations.ROOMS:
        assert random_edits.draw(ROOT, room, "1") == random_edits.draw(ROOT, room, "1")


class Failing:
    """Stands for the tests of a build: one fails, which looks at the file that is edited meanwhile."""

    def __init__(self, file: Path, ends: type[BaseException] | None = None, always: bool = False) -> None:
        self.file, self.ends, self.always, self.seen, self.rooms = file, ends, always, "", {"plan": ["plan_test"]}

    def of(self, room, quick):
        return self.rooms[room]

    def compile(self, names):
        return True

    def failure(self, name, most=None):
        if self.file.read_text() == BODY:
            return name if self.always else ""
        self.seen = self.file.read_text()
        if self.ends:
            raise self.ends
        return name


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(mutations, "ROOT", tmp_path)
    for folder in ("src", "tests/long"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "tests/long/equivalent_edits.txt").write_text("# none\n")
    (tmp_path / "src" / "a.cpp").write_text(BODY)
    return tmp_path


@pytest.mark.parametrize("ends", [None, KeyboardInterrupt])
def test_an_edit_is_taken_back_however_a_try_ends(place, ends):
    file, edit = place / "src" / "a.cpp", next(e for e in random_edits.edits_of("src/a.cpp", BODY) if e.old == "6")
    tests, state = Failing(file, ends), mutations.State(place / "state.json")
    try:
        assert mutations.try_edit(tests, state, 0, "plan", edit, quick=False)["verdict"] == "noticed"
    except KeyboardInterrupt:
        assert ends
    assert tests.seen == edit.of(BODY)
    assert file.read_text() == BODY


def test_a_test_that_fails_without_the_edit_notices_nothing(place):
    edit = next(e for e in random_edits.edits_of("src/a.cpp", BODY) if e.old == "6")
    with pytest.raises(SystemExit, match="plan_test fails without any mistake"):
        mutations.try_edit(Failing(place / "src" / "a.cpp", always=True), mutations.State(place / "state.json"), 0, "plan", edit, quick=False)


@pytest.mark.parametrize(
    "command, most, failure",
    [
        ("sleep 1000", mutations.Seconds(of_clock=0.5), "some, by its time limit"),
        ("while true; do true; done", mutations.Seconds(of_processor=1), "some, by its time limit"),
        ("false", mutations.Seconds(), "some"),
        ("true", mutations.Seconds(), ""),
    ],
)
def test_a_test_fails_by_its_exit_code_and_by_its_time_limits(command, most, failure):
    tests = mutations.Tests.__new__(mutations.Tests)
    tests.runs = {"some": {"args": ["sh", "-c", command]}}
    assert tests.failure("some", most) == failure


def test_the_next_call_takes_back_what_a_killed_one_left(place):
    (place / "src" / "a.cpp").write_text("broken")
    (place / "state.json").write_text(json.dumps({"in_place": {"src/a.cpp": BODY}}))
    mutations.State(place / "state.json").take_back()
    assert (place / "src" / "a.cpp").read_text() == BODY
    assert mutations.State(place / "state.json").in_place == {}


def test_a_listed_edit_is_equivalent_and_not_tried(place):
    edit = next(e for e in random_edits.edits_of("src/a.cpp", BODY) if e.old == "6")
    (place / "tests/long/equivalent_edits.txt").write_text(f"# why\n{edit.file}  {edit.line_after(BODY)}\n")
    tests = Failing(place / "src" / "a.cpp")
    assert mutations.try_edit(tests, mutations.State(place / "state.json"), 0, "plan", edit, quick=False)["verdict"] == "equivalent"
    assert tests.seen == ""
