# SPDX-License-Identifier: Apache-2.0
"""The stand-in for a model of questions answers as it was told, whatever the batch: else it would test nothing."""

import json
from pathlib import Path

import h5py
import torch
from prepared_squad import REPEATED, prepare
from ragged import ragged, texts
from small_squad import TOWER, V20
from squad_stand_in import HIGH, INPUTS, save_stand_in


def highest(model: Path, data: Path, batch: int, extra: int) -> list[tuple[int, int]]:
    """Of each row; batches are cut to their longest row and `extra` places more."""
    module, found = torch.jit.load(str(model)).eval(), []
    with h5py.File(data) as file:
        columns = [torch.from_numpy(file[f"inputs/{name}"][...]).long() for name in INPUTS]
        lengths = file["lengths"][...]
    for first in range(0, len(lengths), batch):
        width = int(lengths[first : first + batch].max()) + extra
        scores = module(*(column[first : first + batch, :width] for column in columns))
        for logits in scores:
            assert (logits == HIGH).sum(1).eq(1).all() and (logits == 0).sum(1).eq(logits.shape[1] - 1).all()
        found += list(zip(*(logits.argmax(1).tolist() for logits in scores), strict=True))
    return found


def test_answers_as_told(tmp_path: Path) -> None:
    data = prepare(tmp_path, REPEATED, "--max-length", 40, "--stride", 10)
    told = {"q-é": "café tower", "q2": "cafe\u0301s, Straße", "q3": "towe", "q4": "Paris", "foreign": "x"}
    stand_in = save_stand_in(data, told, tmp_path / "m.pt")
    # "towe" ends within a token; the last question has the rows of the first one.
    assert stand_in.answers == {"q-é": "café tower", "q2": told["q2"], "q3": "The", "q4": "café tower"}
    assert stand_in.num_found == 2
    ways = [highest(stand_in.model, data, batch, extra) for batch, extra in ((1, 0), (1, 3), (3, 0), (100, 0))]
    assert all(places == ways[0] for places in ways)
    with h5py.File(data) as file:
        unit, paragraph = file["targets/unit"][...], file["units/paragraph"][...]
        begin, token = file["targets/context_begin"][...], file["targets/token_begin"][...]
        spans, ids = ragged(file["paragraphs/tokens"])[0], texts(file["units/id"])
    answers = {}
    for row, (first, last) in enumerate(ways[0]):
        assert (first > 0) == (last > 0)
        if first > 0 and paragraph[unit[row]] == 0:
            span = spans[first - begin[row] + token[row], 0], spans[last - begin[row] + token[row], 1]
            assert ids[unit[row]] not in answers  # one row of a question
            answers[ids[unit[row]]] = TOWER.encode()[slice(*span)].decode()
    assert answers == {name: stand_in.answers[name] for name in ("q-é", "q2", "q4")}
    assert len(unit) > 6


def test_no_answer(tmp_path: Path) -> None:
    data = prepare(tmp_path, V20)
    stand_in = save_stand_in(data, {"a": "", "b": "Paris"}, tmp_path / "m.pt")
    assert stand_in.answers == {"a": "", "b": "Paris"} and stand_in.num_found == 2
    places = highest(stand_in.model, data, 2, 0)
    assert places[0] == (0, 0) and places[1][0] > 0


def test_card(tmp_path: Path) -> None:
    extra = {"tally.json": ""}
    save_stand_in(prepare(tmp_path, V20), {}, tmp_path / "m.pt")
    torch.jit.load(str(tmp_path / "m.pt"), _extra_files=extra)
    card = json.loads(extra["tally.json"])
    assert [entry["name"] for entry in card["inputs"]] == list(INPUTS)
    assert [entry["name"] for entry in card["outputs"]] == ["start_logits", "end_logits"]
