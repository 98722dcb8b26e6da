# SPDX-License-Identifier: Apache-2.0
"""Whatever is wrong with the input: one line that names it, the right exit code, nothing left, no hang."""

import json
import math
import os
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import odd_models
import pytest
import small
from conftest import Small
from corrupt import BAD_DATA
from launch import Program, Run

# None is a start without a launcher.
RANKS = pytest.mark.parametrize("ranks", [None, 3], ids=["alone", "3ranks"])


def all_alone(names: Iterable[str], on_three: Iterable[str]) -> pytest.MarkDecorator:
    """Every name without a launcher, and of each kind one that three ranks see, together or one of them first."""
    cases = [(name, None) for name in names] + [(name, 3) for name in on_three]
    return pytest.mark.parametrize(("name", "ranks"), cases, ids=lambda value: {None: "alone", 3: "3ranks"}.get(value))


DATA_ON_3 = [
    "missing", "named_pipe", "truncated", "flipped_pixel", "flipped_pixel_that_two_ranks_read", "flipped_label",
    "flipped_checksum", "label_too_large", "label_negative", "image_dtype", "no_samples", "no_num_classes",
    "checksum_table_short", "external_link",
]  # fmt: skip
MODELS_ON_3 = [
    "missing", "named_pipe", "truncated", "state_dict", "other_channels", "more_classes", "one_row",
    "card_of_the_future",
]  # fmt: skip


# A shell that may mount: in a namespace of its own, as root there.
MOUNT_SHELL = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
MOUNTS = subprocess.run([*MOUNT_SHELL, "mount -t tmpfs disk /mnt"], capture_output=True).returncode == 0


@pytest.fixture
def fail(tally: Program, small_case: Small, tmp_path: Path) -> Callable[..., Run]:
    """Runs an evaluation that must fail and must leave nothing but what tells of the failure."""

    def run(code: int, texts: tuple[str, ...], *options: object, ranks: int | None = None,
            model: Path = small_case.model, data: Path = small_case.data, output: Path | None = None,
            **how: object) -> Run:  # fmt: skip
        place = tmp_path / "results"
        place.mkdir(exist_ok=True)
        arguments = ["--model", model, "--data", data, "--output", output or place / "new" / "run"]
        arguments += ["--progress", "off", "--batch-size", small.BATCH, *options]
        result = tally("evaluate", *arguments, ranks=ranks, **how)
        result.must_fail(code, *texts)
        error = place / "new" / "run.error.json"
        left = [path for path in place.rglob("*") if path not in (error, error.parent)]
        assert left == []
        assert not error.exists() or json.loads(error.read_text())["code"] == code
        # Of data and models it is known once the output's name is; the other codes may come before.
        assert error.exists() == (code in (3, 4, 7)) or code in (5, 6)
        return result

    return run


@all_alone(BAD_DATA, DATA_ON_3)
def test_data_set(name: str, ranks: int | None, fail: Callable, small_case: Small, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.h5"
    BAD_DATA[name].make(small_case.data, path)
    fail(3, (path.name, *BAD_DATA[name].texts), data=path, ranks=ranks)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_data_set(fail: Callable, small_case: Small, tmp_path: Path) -> None:
    path = tmp_path / "secret.h5"
    path.write_bytes(small_case.data.read_bytes())
    path.chmod(0)
    fail(3, (path.name,), data=path)


@all_alone(odd_models.BAD_MODELS, MODELS_ON_3)
def test_model(name: str, ranks: int | None, fail: Callable, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.pt"
    odd_models.BAD_MODELS[name].make(path)
    run = fail(4, (path.name, *odd_models.BAD_MODELS[name].texts), model=path, ranks=ranks)
    assert run.errors[0].count(str(path)) == 1


@pytest.mark.parametrize("name", odd_models.BAD_WEIGHTS)
def test_weights(name: str, fail: Callable, tmp_path: Path) -> None:
    path = tmp_path / name
    odd_models.BAD_WEIGHTS[name].make(path)
    fail(4, (name, *odd_models.BAD_WEIGHTS[name].texts), "--weights", path, ranks=3 if "names" in name else None)


@pytest.fixture(scope="module")
def bright(small_case: Small) -> Callable[..., Path]:
    """The small data set with samples that the odd models notice."""

    def make(*indices: int) -> Path:
        path = small_case.folder / f"bright{'-'.join(map(str, indices))}.h5"
        return small_case.samples.with_bright_sample(*indices).write(path)

    return make


@RANKS
@pytest.mark.parametrize(("mark", "last_class"), [(math.nan, 3), (math.inf, 3), (-math.inf, small.NUM_CLASSES - 1)])
def test_logits_that_cannot_be_scored(
    mark: float, last_class: int, ranks: int | None, fail: Callable, bright: Callable, small_case: Small
) -> None:
    model = small.save_model(odd_models.Marking(mark, last_class), small_case.folder / "marking.pt")
    fail(7, ("holds NaN or Inf for 1 sample: 77.", "--on-nan wrong"), model=model, data=bright(77), ranks=ranks)


@RANKS
def test_all_samples_that_cannot_be_scored_are_listed(
    ranks: int | None, fail: Callable, bright: Callable, small_case: Small
) -> None:
    model = small.save_model(odd_models.Marking(math.nan), small_case.folder / "marking.pt")
    data = bright(3, 17, 41, 102)
    fail(7, ("holds NaN or Inf for 4 samples: 3, 17, 41, 102.",), model=model, data=data, ranks=ranks)


@pytest.mark.parametrize(("index", "rank"), [(102, 2), (40, 1), (0, 0)])
def test_one_rank_fails_while_the_others_compute(
    index: int, rank: int, fail: Callable, bright: Callable, small_case: Small
) -> None:
    # Each batch of the others takes some 20 ms.
    model = small.save_model(odd_models.Raising(rounds=100), small_case.folder / "raising.pt")
    fail(4, ("raising.pt", "a bright sample", f"rank {rank} on "), model=model, data=bright(index), ranks=3)


def test_the_only_rank_fails(fail: Callable, bright: Callable, small_case: Small) -> None:
    model = small.save_model(odd_models.Raising(), small_case.folder / "raising.pt")
    fail(4, ("raising.pt", "a bright sample"), model=model, data=bright(50))


@RANKS
def test_model_larger_than_memory(ranks: int | None, fail: Callable, tmp_path: Path) -> None:
    """A file of 4 TB, nearly all of it a hole."""
    model = tmp_path / "large.pt"
    model.touch()
    os.truncate(model, 4 * 10**12)
    shared = ("12000.0 GB with 3 ranks", "Use fewer ranks") if ranks else ("has 4000.0 GB; this node has", "several devices")
    fail(5, ("'" + str(model) + "' has 4000.0 GB", "of free memory", *shared), model=model, ranks=ranks)


USAGE = {
    "unknown option": (["--bach-size", "8"], ("--bach-size", "--batch-size")),
    "unknown metric": (["--metrics", "accuracy,acuracy"], ("acuracy", "Did you mean 'accuracy'?")),
    "no number": (["--batch-size", "eight"], ("--batch-size", "eight")),
    "zero batch size": (["--batch-size", "0"], ("--batch-size", "0")),
    "negative limit": (["--limit", "-1"], ("--limit", "-1")),
    "unknown column": (["--save", "labels,everything"], ("--save", "everything")),
    "unknown device": (["--device", "tpu"], ("--device", "tpu")),
    "unknown task": (["--task", "juggling"], ("juggling",)),
    "unknown outputs": (["--outputs", "guesses"], ("--outputs", "guesses")),
    "missing config": (["--config", "nowhere.conf"], ("nowhere.conf",)),
    "extra word": (["surplus"], ("surplus",)),
    "no value": (["--threads"], ("--threads",)),
}


@pytest.mark.parametrize("name", USAGE)
def test_usage(name: str, fail: Callable) -> None:
    options, texts = USAGE[name]
    fail(2, texts, *options)


@pytest.mark.parametrize("name", ["unknown option", "unknown metric"])
def test_usage_on_three_ranks(name: str, fail: Callable) -> None:
    options, texts = USAGE[name]
    fail(2, texts, *options, ranks=3)


def test_required_options(tally: Program, small_case: Small) -> None:
    tally("evaluate", "--data", small_case.data).must_fail(2, "--model")
    tally("evaluate", "--model", small_case.model).must_fail(2, "--data")
    tally("evaluate", "--model", small_case.model, ranks=3).must_fail(2, "--data")
    tally("levitate").must_fail(2, "levitate")
    tally("levitate", ranks=3).must_fail(2, "levitate")


def test_rank_0_has_the_word_though_it_comes_late(tally: Program) -> None:
    late = ["sh", "-c", '"$0" --version >/dev/null; "$0" --version >/dev/null; exec "$0" levitate', str(tally.binary)]
    command = [tally.launcher, "-n", "1", *late, ":", "-n", "2", str(tally.binary), "levitate"]
    tally.run_command(command).must_fail(2, "levitate")


def test_separate_jobs_of_one_rank(fail: Callable) -> None:
    fail(5, ("3 tasks",), env={"SLURM_STEP_NUM_TASKS": "3", "SLURM_PROCID": "0"})


def test_batches_larger_than_the_set_are_cut(tally: Program, small_case: Small, tmp_path: Path) -> None:
    arguments = ["--model", small_case.model, "--data", small_case.data, "--batch-size", 1_000_000]
    for ranks in (None, 3):
        run = tally("evaluate", *arguments, "--output", tmp_path / f"of {ranks}", ranks=ranks).must_succeed()
        assert "batches have 103" in run.stderr
        assert small.report(tmp_path / f"of {ranks}")["plan"]["batch_size"] == 103


def test_ranks_with_other_settings(tally: Program, small_case: Small, tmp_path: Path) -> None:
    output = tmp_path / "run"
    one = ["evaluate", "--model", small_case.model, "--data", small_case.data, "--output", output]
    other = [tally.binary, *one, "--batch-size", "4"]
    command = [*tally.command(*one, ranks=1), ":", "-n", "1", *map(str, other)]
    tally.run_command(command).must_fail(2, "differs", "rank 1")
    assert not output.exists()


def test_ranks_with_other_data(tally: Program, small_case: Small, tmp_path: Path) -> None:
    command = []
    for place, seed in (("here", 1), ("there", 2)):
        (tmp_path / place).mkdir()
        small.make_set(20, seed=seed).write(tmp_path / place / "val.h5")
        arguments = ["evaluate", "--model", small_case.model, "--data", "val.h5", "--output", tmp_path / "run"]
        start = ["-n", "1", "-wdir", tmp_path / place, tally.binary, *arguments]
        command += [":" if command else tally.launcher, *map(str, start)]
    tally.run_command(command).must_fail(3, "val.h5", "differs")
    assert not (tmp_path / "run").exists()


@RANKS
@pytest.mark.parametrize("place", ["file/run", "file", "proc"])
def test_output_cannot_be_written(place: str, ranks: int | None, fail: Callable, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    output = Path("/proc/tally-result") if place == "proc" else tmp_path / place
    fail(6, (str(output),), output=output, ranks=ranks)
    assert (tmp_path / "file").read_text() == "in the way"


@RANKS
def test_output_holds_a_result(ranks: int | None, tally: Program, small_case: Small, tmp_path: Path) -> None:
    output = tmp_path / "run"
    output.mkdir()
    (output / "report.json").write_text("an earlier result")
    arguments = ["--model", small_case.model, "--data", small_case.data, "--output", output]
    tally("evaluate", *arguments, ranks=ranks).must_fail(6, str(output), "--overwrite")
    assert [path.name for path in output.iterdir()] == ["report.json"]
    assert (output / "report.json").read_text() == "an earlier result"


def test_spill_folder_is_missing(fail: Callable) -> None:
    fail(6, ("/proc/nowhere",), "--spill-dir", "/proc/nowhere")


ON_A_SMALL_DISK = """
mount -t tmpfs -o size=$1k disk "$0" || exit 99
shift
"$@"
code=$?
ls -A -I run.error.json "$0"
exit $code
"""


@pytest.mark.skipif(not MOUNTS, reason="no disk of its own size can be mounted here")
@pytest.mark.parametrize("size_kib", [4, 12, 20, 24, 28, 32, 36, 1024])
def test_disk_is_full(size_kib: int, tally: Program, small_case: Small, tmp_path: Path) -> None:
    # The end comes at another file for each size.
    arguments = ["--model", small_case.model, "--data", small_case.data, "--output", tmp_path / "run"]
    command = tally.command("evaluate", *arguments, "--save", "labels,probabilities,logits", "--progress", "off")
    run = tally.run_command([*MOUNT_SHELL, ON_A_SMALL_DISK, str(tmp_path), str(size_kib), *command])
    if size_kib == 1024:
        assert run.code == 0
        assert run.stdout.endswith("run\n")
    else:
        run.must_fail(6, str(tmp_path / "run"))  # no output: the disk is empty again


def test_card_beside_the_model_is_read(fail: Callable, small_case: Small, tmp_path: Path) -> None:
    model = small.save_model(small.TinyNet(), tmp_path / "net.pt")
    (tmp_path / "net.pt.json").write_text(json.dumps(small.card(tally_card=99)))
    fail(4, ("net.pt.json", "tally_card"), model=model)
