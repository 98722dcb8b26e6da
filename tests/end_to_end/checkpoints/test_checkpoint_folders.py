# SPDX-License-Identifier: Apache-2.0
"""`--weights` reads what trainers write in several files: shards, torch.distributed.checkpoint, DeepSpeed."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch
from checkpoint_files import AVERAGED
from checkpoints import Form, State, make_net
from conftest import Evaluate, Small
from sharded_files import SHARDED
from weight_runs import WeightRuns, ranked_checkpoints

@pytest.fixture(scope="module")
def runs(evaluate: Evaluate, small_case: Small, tmp_path_factory: pytest.TempPathFactory) -> WeightRuns:
    return WeightRuns(evaluate, small_case.data, tmp_path_factory.mktemp("models"))


@pytest.mark.parametrize("name", SHARDED)
def test_shards(name: str, runs: WeightRuns, tmp_path: Path) -> None:
    check_form(SHARDED[name], runs, tmp_path)


@pytest.mark.parametrize("name", ["hub_index", "transformers_folder", "accelerate_bin_folder", "accelerate_state"])
def test_shards_on_3_ranks(name: str, runs: WeightRuns, tmp_path: Path) -> None:
    check_form(SHARDED[name], runs, tmp_path, ranks=3)


def test_averaged_model(runs: WeightRuns, tmp_path: Path) -> None:
    check_form(AVERAGED, runs, tmp_path)


def check_form(form: Form, runs: WeightRuns, folder: Path, ranks: int | None = None) -> None:
    net = make_net()
    result = runs.with_weights(form.write(folder, net), ranks=ranks)
    assert result.digests == runs.expected(net.state_dict())
    for text in form.says:
        assert text in result.run.stderr


@pytest.mark.parametrize("name", ["hub_index", "hub_bin_folder"])
@pytest.mark.parametrize(("model", "file"), [("fp32", "bf16"), ("bf16", "fp32"), ("bf16", "bf16")])
def test_precisions_of_shards(name: str, model: str, file: str, runs: WeightRuns, tmp_path: Path) -> None:
    net = make_net(file)
    result = runs.with_weights(SHARDED[name].write(tmp_path, net), precision=model)
    assert result.digests == runs.expected(net.state_dict(), model)
    assert ("tensors converted from" in result.run.stderr) == (model != file)


@pytest.fixture(scope="module")
def written(cache_dir: Path) -> Callable[[str, int], Path]:
    """written(writer, num_ranks): the folder of all forms that this writer writes on so many ranks."""
    return partial(ranked_checkpoints, cache_dir)


def state_of(folder: Path) -> State:
    return torch.load(folder.with_name(f"{folder.name}.expected.pth"))


DCP = [
    "flat", "model", "model_and_optimizer", "bf16", "many_files", "full", "tensor_parallel", "first_kind",
    "replicated", "replicated_prefixed", "replicated_bf16",
]  # fmt: skip
WRITERS = pytest.mark.parametrize("num_writers", [1, 2, 4], ids=["by1", "by2", "by4"])


@WRITERS
@pytest.mark.parametrize("name", DCP)
def test_distributed_checkpoint(name: str, num_writers: int, runs: WeightRuns, written: Callable) -> None:
    folder = written("dcp", num_writers) / name
    assert runs.with_weights(folder).digests == runs.expected(state_of(folder))


@WRITERS
@pytest.mark.parametrize(
    ("name", "key"), [("app", "app.model"), ("own_names", "state_dict.net"), ("model_and_optimizer", "model")]
)
def test_key_in_distributed_checkpoint(
    name: str, key: str, num_writers: int, runs: WeightRuns, written: Callable
) -> None:
    folder = written("dcp", num_writers) / name
    assert runs.with_weights(folder, "--weights-key", key).digests == runs.expected(state_of(folder))


@pytest.mark.parametrize(("model", "name"), [("bf16", "bf16"), ("bf16", "flat"), ("fp32", "replicated_bf16")])
def test_precisions_of_distributed_checkpoint(model: str, name: str, runs: WeightRuns, written: Callable) -> None:
    folder = written("dcp", 2) / name
    result = runs.with_weights(folder, precision=model)
    assert result.digests == runs.expected(state_of(folder), model)
    assert ("tensors converted from" in result.run.stderr) == (model not in name)


ZERO = [f"stage{stage}_{precision}" for stage in (1, 2, 3) for precision in ("bf16", "fp32")]


@pytest.mark.parametrize("num_writers", [1, 2, 3], ids=["by1", "by2", "by3"])
@pytest.mark.parametrize("name", [*ZERO, "stage2_frozen", "stage3_frozen"])
def test_deepspeed(name: str, num_writers: int, runs: WeightRuns, written: Callable) -> None:
    """The weights that DeepSpeed keeps in fp32, put together as its own zero_to_fp32 does."""
    folder = written("deepspeed", num_writers) / name
    assert runs.with_weights(folder).digests == runs.expected(state_of(folder))


@pytest.mark.parametrize(
    ("writer", "num_writers", "name"),
    [("dcp", 4, "flat"), ("dcp", 4, "tensor_parallel"), ("dcp", 2, "many_files"), ("dcp", 2, "first_kind"),
     ("dcp", 4, "replicated"), ("deepspeed", 2, "stage1_fp32"), ("deepspeed", 3, "stage2_bf16"),
     ("deepspeed", 3, "stage3_bf16")],
)  # fmt: skip
def test_ranked_writers_read_on_3_ranks(
    writer: str, num_writers: int, name: str, runs: WeightRuns, written: Callable
) -> None:
    folder = written(writer, num_writers) / name
    assert runs.with_weights(folder, ranks=3).digests == runs.expected(state_of(folder))


@pytest.mark.parametrize("name", ["stage2_bf16", "stage3_bf16"])
def test_step_folder_of_deepspeed(name: str, runs: WeightRuns, written: Callable) -> None:
    folder = written("deepspeed", 2) / name
    assert runs.with_weights(folder / "global_step3").digests == runs.expected(state_of(folder))


@pytest.mark.parametrize("name", ["stage1_bf16", "stage2_fp32"])
def test_rounded_weights_of_deepspeed(name: str, runs: WeightRuns, written: Callable) -> None:
    """Stages 1 and 2 write them too, in a file of their own."""
    path = written("deepspeed", 2) / name / "global_step3" / "mp_rank_00_model_states.pt"
    state = torch.load(path, weights_only=False)["module"]
    assert runs.with_weights(path, "--weights-key", "module").digests == runs.expected(state)
