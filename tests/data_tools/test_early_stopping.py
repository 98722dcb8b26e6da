# SPDX-License-Identifier: Apache-2.0
"""early_stopping.py: alone, on two processes, and in the training loops of Lightning and of transformers."""

import json
import pickle
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import early_stopping
import pytest
import torch
from early_stopping import best, mark_begun, mark_done, reason, should_stop
from torch import distributed, nn
from torch.utils.data import DataLoader, TensorDataset

from conftest import TOOLS

REASON = "accuracy has not gained more than its interval in 3 checkpoints"


def write_stop(folder: Path, stop: bool = True) -> None:
    """As the watch does: whole, or not at all."""
    unfinished = folder / "stop.json.part"
    unfinished.write_text(json.dumps({"stop": stop, "reason": REASON}))
    unfinished.rename(folder / "stop.json")


def test_stops_only_on_a_whole_file(tmp_path: Path) -> None:
    assert not should_stop(tmp_path / "absent") and not should_stop(tmp_path)
    assert reason(tmp_path) is None
    for text in ("", '{"stop": true, "reas', "[]", "null", '{"stop": "yes"}'):
        (tmp_path / "stop.json").write_text(text)
        assert not should_stop(tmp_path), text
    write_stop(tmp_path, stop=False)
    assert not should_stop(tmp_path)
    write_stop(tmp_path)
    assert should_stop(tmp_path) and should_stop(str(tmp_path))
    assert reason(tmp_path) == REASON
    (tmp_path / "stop.json").unlink()
    assert not should_stop(tmp_path)


def test_says_why_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_stop(tmp_path, stop=False)
    should_stop(tmp_path)
    assert not caplog.messages
    write_stop(tmp_path)
    assert should_stop(tmp_path) and should_stop(tmp_path)
    assert caplog.messages == [f"{tmp_path}/stop.json: training should stop: {REASON}"]


def test_reads_only_what_has_changed(tmp_path: Path) -> None:
    write_stop(tmp_path, stop=False)
    read = Path.read_bytes
    with mock.patch.object(Path, "read_bytes", autospec=True, side_effect=read) as reads:
        assert not any(should_stop(tmp_path) for _ in range(100))
        assert reads.call_count == 1
        write_stop(tmp_path)
        assert all(should_stop(tmp_path) for _ in range(100))
        assert reads.call_count == 2


def test_names_the_best_checkpoint(tmp_path: Path) -> None:
    assert best(tmp_path) is None
    checkpoint = tmp_path / "epoch_0002.pt"
    (tmp_path / "best").symlink_to(checkpoint)
    assert best(tmp_path) is None  # it has been deleted
    checkpoint.touch()
    assert best(tmp_path) == checkpoint


def test_marks_as_done(tmp_path: Path) -> None:
    mark_done(tmp_path)
    mark_done(str(tmp_path))
    assert (tmp_path / "done").is_file()
    mark_begun(tmp_path)
    assert not (tmp_path / "done").exists()
    mark_begun(tmp_path / "new")
    assert (tmp_path / "new").is_dir()


def test_needs_no_package() -> None:
    code = f"""
import sys
import weakref
sys.path.insert(0, {str(TOOLS)!r})
import early_stopping
assert not early_stopping.should_stop("absent")
for name in ("LightningStop", "TrainerStop"):
    try:
        getattr(early_stopping, name)
    except ImportError:
        continue
    raise AssertionError(name)
"""
    bare = [sys.executable, "-I", "-S", "-c", code]  # without site-packages
    ended = subprocess.run(bare, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def _rank(rank: int, folder: Path) -> None:
    # Rank 1 looks where nothing will ever be: it can know only from rank 0.
    own = folder if rank == 0 else folder / "absent"
    distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    answers = [should_stop(own)]
    distributed.barrier()
    if rank == 1:
        write_stop(folder)
        mark_done(folder / "not by rank 1")
    distributed.barrier()
    answers.append(should_stop(own))
    mark_done(folder)
    (folder / f"answers-{rank}.json").write_text(json.dumps(answers))
    distributed.destroy_process_group()


def test_all_ranks_get_the_answer_of_rank_0(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(_rank, (tmp_path,), nprocs=2)
    for rank in range(2):
        assert json.loads((tmp_path / f"answers-{rank}.json").read_text()) == [False, True]
    assert (tmp_path / "done").is_file() and not (tmp_path / "not by rank 1").exists()


@pytest.mark.parametrize(("backend", "device"), [
    ("nccl", "cuda"), ("cuda:nccl", "cuda"), ("gloo", "cpu"), ("cpu:gloo,cuda:nccl", "cpu"), ("mpi", "cpu"),
])  # fmt: skip
def test_the_answer_lies_where_the_backend_takes_it(tmp_path: Path, backend: str, device: str) -> None:
    fake = mock.MagicMock()
    fake.device.side_effect = lambda kind, *_: kind
    fake.distributed.get_backend.return_value = backend
    with mock.patch.dict(sys.modules, {"torch": fake, "torch.distributed": fake.distributed}):
        should_stop(tmp_path)
    assert fake.tensor.call_args.kwargs["device"] == device
    fake.distributed.broadcast.assert_called_once_with(fake.tensor.return_value, src=0)


@pytest.fixture
def held() -> Iterator[list[torch.Tensor]]:
    """What a thread of Gloo still holds after a broadcast."""
    tensors: list[torch.Tensor] = []
    with mock.patch.object(distributed, "is_initialized", return_value=True), \
         mock.patch.object(distributed, "get_rank", return_value=0), \
         mock.patch.object(distributed, "get_backend", return_value="gloo"), \
         mock.patch.object(distributed, "broadcast", lambda tensor, src: tensors.append(tensor)):  # fmt: skip
        yield tensors


def test_waits_until_what_was_sent_is_released(tmp_path: Path, held: list[torch.Tensor]) -> None:
    """A thread of Gloo that released or freed it while the interpreter ends would abort the process."""
    sleeps = iter((lambda: None, lambda: None, held.clear))  # a fourth would raise StopIteration
    with mock.patch.object(early_stopping.time, "sleep", lambda _: next(sleeps)()):
        should_stop(tmp_path)
    assert not held and not list(sleeps)


def test_does_not_free_what_was_sent(tmp_path: Path, held: list[torch.Tensor]) -> None:
    sent: list[weakref.ref[torch.Tensor]] = []

    def release(_: float) -> None:
        sent.append(weakref.ref(held[0]))
        held.clear()

    with mock.patch.object(early_stopping.time, "sleep", release):
        should_stop(tmp_path)
    assert sent[0]() is not None


def test_waits_no_longer_than_its_limit(tmp_path: Path, held: list[torch.Tensor]) -> None:
    seconds = iter(range(1000))
    with mock.patch.object(early_stopping.time, "monotonic", lambda: next(seconds)), \
         mock.patch.object(early_stopping.time, "sleep"):  # fmt: skip
        assert not should_stop(tmp_path)
    assert len(held) == 1 and next(seconds) < 20



class StopAt:
    """Writes stop.json while step `step` is computed."""

    def __init__(self, folder: Path, step: int) -> None:
        self.folder, self.step, self.steps = folder, step, 0
        mark_done(folder / "checkpoints")  # by a training before

    def __call__(self) -> None:
        assert not (self.folder / "checkpoints" / "done").exists()
        self.steps += 1
        if self.steps == self.step:
            write_stop(self.folder)


# steps in an epoch: 4; written in step 6 of 40: the end of the epoch is step 8
@pytest.mark.parametrize(("every_n_steps", "steps"), [(100, 8), (1, 6)])
def test_lightning(tmp_path: Path, every_n_steps: int, steps: int) -> None:
    from lightning.pytorch import LightningModule, Trainer
    from lightning.pytorch.callbacks import ModelCheckpoint

    seen = StopAt(tmp_path, 6)

    class Toy(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 1)

        def training_step(self, batch: list[torch.Tensor], _: int) -> torch.Tensor:
            seen()
            return self.layer(batch[0]).square().mean()

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), 0.1)

    stop = early_stopping.LightningStop(tmp_path, tmp_path / "checkpoints", every_n_steps)
    assert type(pickle.loads(pickle.dumps(stop))) is early_stopping.LightningStop
    keep = ModelCheckpoint(tmp_path / "checkpoints")
    trainer = Trainer(
        max_epochs=10, accelerator="cpu", devices=1, callbacks=[keep, stop], logger=False,
        enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(Toy(), DataLoader(TensorDataset(torch.ones(8, 2)), batch_size=2))
    assert seen.steps == steps
    assert (tmp_path / "checkpoints" / "done").is_file()


# saved every 3 of 40 steps; written in step 5: the next checkpoint is that of step 6, the epoch's end step 8
@pytest.mark.parametrize(("save", "every_n_steps", "steps"), [("steps", 100, 6), ("no", 100, 8), ("no", 5, 5)])
def test_trainer_of_transformers(tmp_path: Path, save: str, every_n_steps: int, steps: int) -> None:
    from transformers import Trainer, TrainingArguments

    seen = StopAt(tmp_path, 5)

    class Toy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 1)

        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            seen()
            return {"loss": self.layer(x).square().mean()}

    arguments = TrainingArguments(
        output_dir=str(tmp_path / "checkpoints"), num_train_epochs=10, per_device_train_batch_size=2,
        save_strategy=save, save_steps=3, use_cpu=True, report_to=[], disable_tqdm=True,
    )  # fmt: skip
    rows = [{"x": torch.ones(2)}] * 8
    stop = early_stopping.TrainerStop(tmp_path, every_n_steps)
    assert type(pickle.loads(pickle.dumps(stop))) is early_stopping.TrainerStop
    trainer = Trainer(Toy(), arguments, train_dataset=rows, callbacks=[stop])
    trainer.train()
    assert trainer.state.global_step == steps
    assert (tmp_path / "checkpoints" / "done").is_file()
