# SPDX-License-Identifier: Apache-2.0
"""Questions from the text to the figures: windows, spans over the ranks, answers, official scores."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
import small
import torch
from conftest import Evaluate, Result
from launch import Program
from prepared_squad import prepare
from ragged import ragged, texts
from same_results import check_same
from small_squad import V11, V20
from squad_files import SquadFiles, golds_of, official_f1
from squad_stand_in import INPUTS, save_stand_in


@pytest.fixture(scope="module")
def squad(data_dir: Path, cache_dir: Path) -> SquadFiles:
    return SquadFiles(data_dir, cache_dir)


def read(result: Result, name: str) -> dict:
    return json.loads((result.folder / name).read_text())


def test_the_whole_path_gives_what_the_official_scorer_gives(squad: SquadFiles, evaluate: Evaluate, tmp_path: Path) -> None:
    stand_in = squad.stand_in(tmp_path / "stand_in.pt")
    results = [evaluate(stand_in.model, squad.data(), ranks=ranks) for ranks in (1, 2, 3, 5)]
    check_same(results)
    first = results[0]
    assert read(first, "predictions.json") == stand_in.answers
    assert first.report["units"] == {"total": 10570, "scored": 10570}
    assert first.report["samples"]["evaluated"] == 10784 and first.report["samples"]["exactly_once"]

    golds = golds_of(squad.folder / "dev-v1.1-reconstructed.json")
    with h5py.File(first.folder / "predictions.h5") as file:
        ids, answers = texts(file["id"]), texts(file["prediction"])
        exact, f1 = file["exact_match"][...], file["f1"][...]
        assert list(file["index"][...]) == list(range(10570))
    assert dict(zip(ids, answers, strict=True)) == stand_in.answers
    expected = official_f1(answers, [golds[identity] for identity in ids])
    assert (exact == expected[:, 0]).all()
    assert np.abs(f1 - expected[:, 1]).max() < 1e-7  # theirs are float32
    assert first.value("exact_match") == pytest.approx(expected[:, 0].mean(), abs=1e-12)
    assert first.value("f1") == pytest.approx(f1.astype(np.float64).mean(), abs=1e-12)


def logits_of(model: Path, data: Path, rows: int) -> list[torch.Tensor]:
    """By transformers itself: start and end, [rows, tokens]; each row without its padding."""
    from transformers import AutoConfig, BertForQuestionAnswering

    torch.manual_seed(0)
    net = BertForQuestionAnswering(AutoConfig.from_pretrained(model)).eval()
    with h5py.File(data) as file:
        columns = [torch.from_numpy(file[f"inputs/{name}"][:rows]).long() for name in INPUTS]
        lengths = file["lengths"][:rows]
    found = []
    with torch.inference_mode():
        for row, length in enumerate(lengths):
            outputs = net(*(column[row : row + 1, :length] for column in columns))
            found.append(torch.stack([outputs.start_logits[0], outputs.end_logits[0]]))
    return found


def best_spans(logits: list[torch.Tensor], data: Path, most: int) -> dict[str, tuple[str, float, float]]:
    """By trying them all: of each question the text and its two logits."""
    with h5py.File(data) as file:
        unit, begin, end, token = (file[f"targets/{n}"][...] for n in ("unit", "context_begin", "context_end", "token_begin"))
        ids, paragraph = texts(file["units/id"]), file["units/paragraph"][...]
        contexts, spans = ragged(file["paragraphs/text"]), ragged(file["paragraphs/tokens"])
    best: dict[str, tuple] = {}
    for row, (starts, ends) in enumerate(logits):
        scores = starts.double()[:, None] + ends.double()[None, :]
        places = torch.arange(len(starts))
        inside = (places >= int(begin[row])) & (places < int(end[row]))
        length = places[None, :] - places[:, None]
        scores[~(inside[:, None] & inside[None, :] & (length >= 0) & (length < most))] = -torch.inf
        first, last = divmod(int(scores.argmax()), len(starts))
        question = int(unit[row])
        of_token = spans[paragraph[question]]
        shift = int(token[row]) - int(begin[row])
        text = contexts[paragraph[question]][of_token[first + shift, 0] : of_token[last + shift, 1]].tobytes().decode()
        found = (float(scores[first, last]), text, float(starts[first]), float(ends[last]))
        if ids[question] not in best or found[0] > best[ids[question]][0]:
            best[ids[question]] = found
    return {identity: found[1:] for identity, found in best.items()}


def test_a_real_bert_gives_the_same_texts_on_1_2_and_5_ranks(squad: SquadFiles, evaluate: Evaluate) -> None:
    layers, rows = 2, 40
    options = ["--limit", rows, "--batch-size", 4, "--bucket-batches", 2]
    results = [evaluate(squad.bert(layers), squad.data(), *options, ranks=ranks, limit_s=300) for ranks in (1, 2, 5)]
    check_same(results)
    expected = best_spans(logits_of(squad.config(layers), squad.data(), rows), squad.data(), 30)
    nbest = read(results[0], "nbest.json")
    assert read(results[0], "predictions.json") == {identity: found[0] for identity, found in expected.items()}
    for identity, (text, start, end) in expected.items():
        assert nbest[identity][0]["text"] == text
        assert abs(nbest[identity][0]["start_logit"] - start) < 1e-5
        assert abs(nbest[identity][0]["end_logit"] - end) < 1e-5
        assert sum(entry["probability"] for entry in nbest[identity]) == pytest.approx(1, abs=1e-9)


def test_sorting_by_length_changes_no_more_than_rounding(squad: SquadFiles, evaluate: Evaluate) -> None:
    options = ["--limit", 32, "--batch-size", 8]
    whole, sorted_ones = (
        evaluate(squad.bert(2), squad.data(), *options, "--bucket-batches", count, limit_s=300) for count in (1, 4)
    )
    assert read(whole, "predictions.json") == read(sorted_ones, "predictions.json")
    for identity, entries in read(whole, "nbest.json").items():
        other = read(sorted_ones, "nbest.json")[identity][0]
        assert abs(entries[0]["start_logit"] - other["start_logit"]) < 1e-5
    assert whole.report["digests"]["class"] != sorted_ones.report["digests"]["class"]


def test_published_answers_get_their_published_scores(squad: SquadFiles, score: Evaluate) -> None:
    from squad_files import BERT_ENSEMBLE, LOGISTIC_REGRESSION

    for system, exact, f1, foreign, missing in (
        (BERT_ENSEMBLE, 86.20624408703878, 92.19557978351129, 0, 0),
        (LOGISTIC_REGRESSION, 40.14191106906339, 50.98153647324482, 28, 13),
    ):
        results = [score(squad.published(system), squad.data(), ranks=ranks) for ranks in (1, 3)]
        one, other = (result.report for result in results)
        assert one["digests"] == other["digests"] and one["metrics"] == other["metrics"] and one["ids"] == other["ids"]
        assert 100 * one["metrics"]["exact_match"]["value"] == pytest.approx(exact, abs=1e-12)
        # The official script adds doubles one by one; ours is the exact sum, rounded once.
        assert 100 * one["metrics"]["f1"]["value"] == pytest.approx(f1, abs=1e-12)
        assert one["ids"]["foreign"]["count"] == foreign and one["ids"]["missing"]["count"] == missing
        assert len(one["ids"]["foreign"]["first"]) == min(foreign, 10)
        notes = " ".join(one["notes"])
        assert ("28 predictions are for ids" in notes) == (foreign > 0)
        assert ("13 questions have no prediction" in notes) == (missing > 0)


def test_questions_that_may_have_no_answer(evaluate: Evaluate, tmp_path: Path) -> None:
    data = prepare(tmp_path, V20)
    model = save_stand_in(data, {"a": "", "b": "Paris"}, tmp_path / "m.pt").model
    right = evaluate(model, data, ranks=2)
    assert read(right, "predictions.json") == {"a": "", "b": "Paris"}
    names = ["exact_match", "f1", "has_answer_exact_match", "has_answer_f1", "no_answer_exact_match", "no_answer_f1"]
    assert {name: right.value(name) for name in names} == dict.fromkeys(names, 1.0)
    assert read(right, "nbest.json")["a"][0]["text"] == ""
    # The margin of "a" is 20 - 0, that of "b" 0 - 20.
    best = {name: right.report["metrics"][name] for name in ("best_exact_match", "best_f1")}
    assert {name: (figure["value"], figure["threshold"]) for name, figure in best.items()} == dict.fromkeys(best, (1.0, -20))
    never = evaluate(model, data, "--no-answer-threshold", 20)
    assert read(never, "predictions.json") == {"a": "The", "b": "Paris"}  # of equal spans the first
    assert never.value("no_answer_exact_match") == 1  # "the" is normalised to nothing
    always = evaluate(model, data, "--no-answer-threshold", -21)
    assert read(always, "predictions.json") == {"a": "", "b": ""}
    assert always.value("has_answer_f1") == 0 and always.value("no_answer_f1") == 1


class Single(torch.nn.Module):
    """Both logits in one tensor; without a card, inputs come in the order of their names."""

    def forward(self, attention_mask: torch.Tensor, input_ids: torch.Tensor, token_type_ids: torch.Tensor) -> torch.Tensor:
        places = torch.arange(input_ids.shape[1])[None, :].float() * attention_mask
        return torch.stack([places, places], 2) if self.both else places[:, :, None]

    def __init__(self, both: bool) -> None:
        super().__init__()
        self.both = both


def test_both_logits_may_come_in_one_tensor(evaluate: Evaluate, tally: Program, tmp_path: Path) -> None:
    data = prepare(tmp_path, V11)
    model = small.save_model(torch.jit.script(Single(True)), tmp_path / "both.pt")
    result = evaluate(model, data, ranks=2)
    assert read(result, "predictions.json")["q3"] == "."  # the last token of the context
    assert any("no card that says it takes sequences of any length" in note for note in result.report["notes"])
    one = small.save_model(torch.jit.script(Single(False)), tmp_path / "one.pt")
    run = tally("evaluate", "--model", one, "--data", data, "--output", tmp_path / "out")
    run.must_fail(4, "expected start and end logits, [rows, tokens] each")
    run = tally("evaluate", "--model", model, "--data", data, "--output", tmp_path / "out", "--save", "logits")
    run.must_fail(2, "question answering saves answers only")


def test_subgroups_and_resampling_are_of_questions(evaluate: Evaluate, tmp_path: Path) -> None:
    data = prepare(tmp_path, V11, "--max-length", 40, "--stride", 10)
    with h5py.File(data, "r+") as file:
        unit = file["targets/unit"][...]
        file.create_dataset("groups/odd", data=(unit % 2).astype(np.int32))
    model = save_stand_in(data, {"q-é": "café tower", "q2": "Paris", "q3": "1889"}, tmp_path / "m.pt").model
    results = [evaluate(model, data, "--intervals", "bootstrap", "--bootstrap-replicas", 50, ranks=n) for n in (1, 2, 5)]
    check_same(results)
    assert results[0].report["groups"] == results[2].report["groups"]
    assert len(unit) > 3  # a question has several windows
    groups = results[0].report["groups"]["odd"]["values"]
    assert [(group["value"], group["scored"], group["metrics"]["exact_match"]["value"]) for group in groups] == [(0, 2, 1.0), (1, 1, 0.0)]
    assert results[0].report["metrics"]["f1"]["low"] is not None


def long_contexts(folder: Path) -> tuple[Path, dict[str, str]]:
    """Questions of up to a dozen windows, and of one."""
    shuffled = np.random.default_rng(3)
    contexts = [" ".join(shuffled.permutation([*"abcdefghijklmnopqrstuvwxyz"])) for _ in range(6)] + ["was in paris", "the tower"]
    paragraphs = [
        {"context": context, "qas": [
            {"id": f"{number}-{which}", "question": ("the ?", "was ?")[which], "answers": [{"text": context.split()[-1], "answer_start": 0}]}
            for which in range(2)]}
        for number, context in enumerate(contexts)
    ]  # fmt: skip
    told = {f"{number}-{which}": context.split()[-1 - which % 2] for number, context in enumerate(contexts) for which in range(2)}
    content = {"version": "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]}
    return prepare(folder, content, "--max-length", 10, "--stride", 2), told


@pytest.mark.parametrize("bucket", [1, 2])
def test_windows_of_a_question_on_several_ranks(bucket: int, evaluate: Evaluate, tmp_path: Path) -> None:
    data, told = long_contexts(tmp_path)
    stand_in = save_stand_in(data, told, tmp_path / "m.pt")
    with h5py.File(data) as file:
        unit = file["targets/unit"][...]
    assert np.bincount(unit).max() >= 8  # with batches of a sample on 16 ranks: more than three of them
    options = ["--batch-size", 1, "--bucket-batches", bucket]
    results = [evaluate(stand_in.model, data, *options, ranks=ranks) for ranks in (1, 2, 3, 5, 16)]
    check_same(results)
    assert read(results[0], "predictions.json") == stand_in.answers
    limit = int(np.flatnonzero(unit == 3)[1])  # one window of the fourth question
    limited = [evaluate(stand_in.model, data, *options, "--limit", limit, ranks=ranks) for ranks in (1, 3, 5)]
    check_same(limited)
    assert len(read(limited[0], "predictions.json")) == 4
    assert limited[0].report["units"]["scored"] == 4


def test_broken_tables_are_refused(evaluate: Evaluate, tally: Program, tmp_path: Path) -> None:
    data, told = long_contexts(tmp_path)
    model = save_stand_in(data, told, tmp_path / "m.pt").model
    with h5py.File(data, "r+") as file:
        del file["checksums"]
        last = len(file["targets/unit"]) - 1
    for path, row, value, words in (
        ("targets/unit", 0, 1, "/targets/unit[0] = 1 after -1, expected the same or the next question"),
        ("targets/unit", last, 14, "/targets/unit"),
        ("targets/context_end", 2, 11, "expected 0 to 10"),
        ("targets/context_end", last, 10, "but the sample's length is"),
        ("units/paragraph", 0, 3, "/units/paragraph[1] = "),
        ("units/first_answer", 0, 1, "/units/first_answer[0] = 1, expected 0 (read)"),
        ("units/first_answer", 3, 4, "/units/first_answer["),
        ("units/id/offsets", 1, 99999, "/units/id/offsets"),
        ("paragraphs/tokens/values", 0, [5, 900], "of a context of"),
    ):
        broken = tmp_path / "broken.h5"
        broken.write_bytes(data.read_bytes())
        with h5py.File(broken, "r+") as file:
            file[path][row] = value
        # What is wrong in the first row and in the last is seen by other ranks.
        for ranks in (None, 3) if path == "targets/unit" else (None,):
            run = tally("evaluate", "--model", model, "--data", broken, "--output", tmp_path / "out", "--progress", "off",
                        ranks=ranks, limit_s=60)  # fmt: skip
            assert run.code == 3, (path, run.stderr)
            assert words in run.stderr, (path, run.stderr)
            assert not (tmp_path / "out" / "report.json").exists()
