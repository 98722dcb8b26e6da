# SPDX-License-Identifier: Apache-2.0
"""The evidence of coverage is that of each sample exactly once, on any number of ranks."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import small
from conftest import Evaluate, Small

MASK = (1 << 64) - 1


def mix(index: int) -> int:
    """The finaliser of SplitMix64 (Steele, Lea, Flood 2014)."""
    z = (index + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def evidence_of(num_samples: int) -> dict:
    return {
        "count": num_samples,
        "index_sum": num_samples * (num_samples - 1) // 2,
        "index_mix": sum(map(mix, range(num_samples))) & MASK,
    }


def as_numbers(coverage: dict) -> dict:
    """64-bit values may be written as hexadecimal text."""
    return {name: int(value, 0) if isinstance(value, str) else value for name, value in coverage.items()}


def check_coverage(samples: dict, num_samples: int) -> None:
    coverage = dict(samples["coverage"])
    expected = coverage.pop("expected")
    assert samples["exactly_once"] is True
    assert samples["evaluated"] == num_samples
    assert as_numbers(coverage) == as_numbers(expected) == evidence_of(num_samples)


@pytest.mark.parametrize("num_samples", [1, 3, small.NUM_SAMPLES])
def test_every_sample_exactly_once_on_any_number_of_ranks(
    num_samples: int, evaluate: Evaluate, tmp_path: Path
) -> None:
    data = small.make_set(num_samples).write(tmp_path / "set.h5")
    model = small.save_model(small.TinyNet(), tmp_path / "net.pt", json.dumps(small.card()))
    ranks = (None, 1, 2, 3, 5, 8) if num_samples == small.NUM_SAMPLES else (None, 5)
    results = [evaluate(model, data, "--batch-size", 8, ranks=count) for count in ranks]
    for result in results:
        check_coverage(result.report["samples"], num_samples)
        index = small.columns(result.folder / "predictions.h5")["index"]
        np.testing.assert_array_equal(index, np.arange(num_samples))
    for one, other in itertools.pairwise(results):
        assert one.digests == other.digests
        assert one.report["metrics"] == other.report["metrics"]
        assert one.report["per_class"] == other.report["per_class"]


def test_five_ranks_and_three_samples_in_batches_of_one(evaluate: Evaluate, tmp_path: Path) -> None:
    data = small.make_set(3).write(tmp_path / "set.h5")
    model = small.save_model(small.TinyNet(), tmp_path / "net.pt")
    alone, crowd = (evaluate(model, data, "--batch-size", 1, ranks=ranks) for ranks in (None, 5))
    assert alone.digests == crowd.digests
    assert [entry["samples"] for entry in crowd.report["ranks"]] == [1, 1, 1, 0, 0]
    check_coverage(crowd.report["samples"], 3)


@pytest.mark.parametrize("limit", [1, 50, 5000])
def test_limit_takes_the_first_samples(limit: int, small_case: Small, evaluate: Evaluate) -> None:
    result = evaluate(small_case.model, small_case.data, "--limit", limit, "--batch-size", 8, ranks=2)
    expected = min(limit, small.NUM_SAMPLES)
    check_coverage(result.report["samples"], expected)
    assert result.report["samples"]["total"] == small.NUM_SAMPLES
    index = small.columns(result.folder / "predictions.h5")["index"]
    np.testing.assert_array_equal(index, np.arange(expected))


def test_a_small_window_gives_the_same_file(small_case: Small, evaluate: Evaluate) -> None:
    options = ["--save", "labels,logits,probabilities,topk", "--batch-size", 8]
    wide = evaluate(small_case.model, small_case.data, *options, ranks=3)
    narrow = evaluate(small_case.model, small_case.data, *options, "--gather-window", 64, ranks=3)
    assert wide.digests == narrow.digests
    files = [(result.folder / "predictions.h5").read_bytes() for result in (wide, narrow)]
    assert files[0] == files[1]


def test_records_that_outgrow_memory_are_the_same(small_case: Small, evaluate: Evaluate, tmp_path: Path) -> None:
    """A rank keeps 64 MiB of records in memory: one rank has more than that here, three have less."""
    num_classes = 200_000
    assert small.NUM_SAMPLES * num_classes * 4 > 64 * 2**20 > (small.NUM_SAMPLES // 3 + 8) * num_classes * 4
    samples = replace(small_case.samples, num_classes=num_classes)
    data = samples.write(tmp_path / "many.h5")
    card = json.dumps(small.card(num_classes))
    model = small.save_model(small.TinyNet(num_classes), tmp_path / "many.pt", card)
    options = ["--save", "labels,logits", "--batch-size", 8, "--spill-dir", tmp_path]
    one, three = (evaluate(model, data, *options, ranks=ranks) for ranks in (1, 3))
    assert one.digests == three.digests
    assert {path.name for path in tmp_path.iterdir()} >= {"many.h5", "many.pt"}


def test_data_sets_without_checksums_are_said_to_be_unchecked(
    small_case: Small, evaluate: Evaluate, tmp_path: Path
) -> None:
    data = small_case.samples.write(tmp_path / "plain.h5", checksums=False)
    plain = evaluate(small_case.model, data)
    checked = evaluate(small_case.model, small_case.data)
    assert plain.report["inputs"]["data"]["integrity"] == "unchecked"
    assert plain.digests == checked.digests
    assert plain.report["inputs"]["data"]["identity"] != checked.report["inputs"]["data"]["identity"]


def test_nothing_saved_has_no_predictions(small_case: Small, evaluate: Evaluate) -> None:
    result = evaluate(small_case.model, small_case.data, "--save", "none", ranks=2)
    assert result.report["digests"]["predictions"] is None
    assert not (result.folder / "predictions.h5").exists()
