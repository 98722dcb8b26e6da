# SPDX-License-Identifier: Apache-2.0
"""What the report says about time: shares that add up, bytes that are true, and two lines at most on the screen."""

import h5py
import pytest
import small
from conftest import Evaluate, Small

BATCH = 8
ROWS_PER_BLOCK = 16  # of small.SmallSet
SAMPLE_BYTES = small.HEIGHT * small.WIDTH * 3 + 8


@pytest.mark.parametrize("ranks", [None, 3, 5])
def test_shares_add_up(ranks: int | None, evaluate: Evaluate, small_case: Small) -> None:
    result = evaluate(small_case.model, small_case.data, "--batch-size", BATCH, "--device", "cpu", ranks=ranks)
    timing = result.report["timing"]
    waste = dict(timing["waste"])
    world = ranks or 1
    assert waste.pop("rank_seconds") == pytest.approx(world * timing["wall_s"], rel=0.25)
    phases = {name: times["mean"] for name, times in timing["phases"].items()}
    ranks_s = {key: share * timing["waste"]["rank_seconds"] / world for key, share in waste.items()}
    names = list(phases)
    assert ranks_s["startup"] == pytest.approx(sum(phases[name] for name in names[: names.index("evaluate_s")]))
    waits = [rank["wait_for_ranks_s"] for rank in result.report["ranks"]]
    assert sum(waits) / world == pytest.approx(phases["wait_for_ranks_s"])
    assert ranks_s["wait_for_slowest_rank"] == pytest.approx(phases["wait_for_ranks_s"])
    waits = [rank["wait_s"] for rank in result.report["ranks"]]
    assert ranks_s["wait_for_data"] == pytest.approx(sum(waits) / world)
    assert ranks_s["publishing"] >= phases["gather_s"]
    rest = phases["evaluate_s"] - sum(waits) / world + phases["reduce_s"] + phases["count_again_s"]
    assert ranks_s["useful"] == pytest.approx(rest)
    assert timing["overall_samples_per_s"] == pytest.approx(small.NUM_SAMPLES / timing["wall_s"])
    assert timing["energy_j"] is None and timing["energy_j_per_sample"] is None
    assert timing["stragglers"] == []  # no loop of these takes a second
    for rank in result.report["ranks"]:
        shares = {name: share * rank["loop_s"] for name, share in rank["loop_shares"].items()}
        assert shares["wait_for_data"] == pytest.approx(rank["wait_s"])
        computed = sum(shares[name] for name in ("prepare", "forward", "metrics", "wait_for_device"))
        assert computed == pytest.approx(rank["compute_s"])
        assert shares["other"] >= -1e-9, rank
        assert rank["read_share"] == pytest.approx(rank["read_s"] / rank["loop_s"])
        assert rank["energy_j"] is None
    lines = [line for line in result.run.stdout.splitlines() if "lost:" in line or line.startswith("Energy")]
    assert len(lines) == 1


def test_a_rank_without_batches_reads_nothing(evaluate: Evaluate, small_case: Small) -> None:
    result = evaluate(small_case.model, small_case.data, "--batch-size", 64, "--device", "cpu", ranks=3)
    idle = result.report["ranks"][2]
    assert (idle["samples"], idle["bytes_read"], idle["bytes_needed"]) == (0, 0, 0)


@pytest.mark.parametrize("checksums", [True, False])
@pytest.mark.parametrize("ranks", [None, 3])
def test_bytes_are_those_of_whole_blocks(
    ranks: int | None, checksums: bool, evaluate: Evaluate, small_case: Small
) -> None:
    data = small_case.samples.write(small_case.folder / f"checksums-{checksums}.h5", checksums)
    with h5py.File(data) as file:
        assert ("checksums" in file) == checksums
    report = evaluate(small_case.model, data, "--batch-size", BATCH, ranks=ranks).report
    first = 0
    for rank in report["ranks"]:
        assert rank["bytes_needed"] == rank["samples"] * SAMPLE_BYTES
        begin, end = first, first + rank["samples"]
        if checksums:  # the blocks that the slice cuts are read whole
            begin -= begin % ROWS_PER_BLOCK
            end = min(small.NUM_SAMPLES, -(-end // ROWS_PER_BLOCK) * ROWS_PER_BLOCK)
        assert rank["bytes_read"] == (end - begin) * SAMPLE_BYTES
        first += rank["samples"]
    assert first == small.NUM_SAMPLES
