# SPDX-License-Identifier: Apache-2.0
"""Asks in a training loop whether `tally watch` wants it to stop; needs nothing but Python.

FOLDER is the output folder of `tally watch`, CHECKPOINTS the folder that it watches. Plain PyTorch, also under DDP:

    from early_stopping import mark_done, should_stop
    for epoch in range(epochs):
        ...                                   # train, and save a checkpoint
        if should_stop(FOLDER): break         # on all ranks, with the same answer
    mark_done(CHECKPOINTS)                    # the watch evaluates what is there, and ends

Lightning, and the Trainer of Hugging Face's transformers, which knows its folder of checkpoints itself:

    from early_stopping import LightningStop
    trainer = Trainer(callbacks=[ModelCheckpoint(CHECKPOINTS, ...), LightningStop(FOLDER, CHECKPOINTS)])

    from early_stopping import TrainerStop
    trainer = Trainer(model, arguments, callbacks=[TrainerStop(FOLDER)])
"""

import json
import logging
import sys
import time
from pathlib import Path
from typing import Any

# By folder: what stat said of its stop.json when it was last read, and what it held.
_known: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {}
_told: set[tuple[str, Any]] = set()  # reasons, by folder
_last_flag: Any = None  # that was sent
_LONGEST_WAIT_S = 10.0  # a profiler may hold a tensor for ever


def _read(folder: str | Path) -> dict[str, Any]:
    """The content of stop.json, {} where there is none or it is not whole; reads it only when it has changed."""
    path = Path(folder) / "stop.json"
    try:
        found = path.stat()
        signature = (found.st_mtime_ns, found.st_size, found.st_ino)
        key = str(folder)
        if key not in _known or _known[key][0] != signature:
            _known[key] = (signature, _parse(path.read_bytes()))
        return _known[key][1]
    except OSError:
        return {}


def _parse(text: bytes) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _distributed() -> Any:
    """torch.distributed where this process trains with others, else None; imports nothing."""
    module = sys.modules.get("torch.distributed")
    return module if module is not None and module.is_available() and module.is_initialized() else None


def _broadcast_and_release(distributed: Any, flag: Any) -> None:
    """Broadcasts from rank 0, and waits until this thread alone refers to the tensor.

    A thread of Gloo holds it a moment longer than the broadcast takes, and needs the interpreter to let go of it. An
    interpreter that ends in that moment, as it may after the last answer, aborts the process
    (https://github.com/pytorch/pytorch/issues/190489).
    """
    global _last_flag
    _last_flag = flag  # else that thread would free it, for which it needs the interpreter once more
    references, deadline = sys.getrefcount(flag), time.monotonic() + _LONGEST_WAIT_S
    distributed.broadcast(flag, src=0)
    while sys.getrefcount(flag) > references and time.monotonic() < deadline:
        time.sleep(0)  # lets the other thread have the interpreter


def _same_on_all(distributed: Any, answer: bool) -> bool:
    torch = sys.modules["torch"]
    backend = distributed.get_backend()  # "nccl", "cuda:nccl", "cpu:gloo,cuda:nccl", …
    on_gpu = "nccl" in backend and "cpu" not in backend
    device = torch.device("cuda", torch.cuda.current_device()) if on_gpu else torch.device("cpu")
    flag = torch.tensor([answer], dtype=torch.uint8, device=device)
    if on_gpu:
        distributed.broadcast(flag, src=0)
    else:
        _broadcast_and_release(distributed, flag)
    return bool(flag.item())


def _says_stop(folder: str | Path) -> bool:
    found = _read(folder)
    if found.get("stop") is not True:
        return False
    told = (str(folder), found.get("reason"))
    if told not in _told:
        _told.add(told)
        logging.getLogger(__name__).warning("%s/stop.json: training should stop: %s", *told)
    return True


def should_stop(folder: str | Path) -> bool:
    """Whether stop.json in `folder` says so; an absent or half-written one does not. Costs one stat.

    Collective where torch.distributed is initialised: rank 0 reads and logs the reason, all ranks get its answer.
    """
    distributed = _distributed()
    if distributed is None:
        return _says_stop(folder)
    return _same_on_all(distributed, distributed.get_rank() == 0 and _says_stop(folder))


def reason(folder: str | Path) -> str | None:
    """Why to stop, in one sentence; None while there is no reason. Not collective."""
    return _read(folder).get("reason")


def best(folder: str | Path) -> Path | None:
    """The best checkpoint so far, which `best` in `folder` is a link to or a copy of. Not collective."""
    path = Path(folder) / "best"
    return path.resolve() if path.exists() else None


def mark_begun(checkpoints: str | Path) -> None:
    """Takes back the `done` of a training before, so that a watch does not end: rank 0 makes the folder, if need be."""
    distributed = _distributed()
    if distributed is None or distributed.get_rank() == 0:
        Path(checkpoints).mkdir(parents=True, exist_ok=True)
        (Path(checkpoints) / "done").unlink(missing_ok=True)


def mark_done(checkpoints: str | Path) -> None:
    """Tells the watch that no more checkpoints come: rank 0 writes the file `done`. Call it on rank 0 or all."""
    distributed = _distributed()
    if distributed is None or distributed.get_rank() == 0:
        Path(checkpoints).mkdir(parents=True, exist_ok=True)  # a training that saved nothing ends, too
        (Path(checkpoints) / "done").touch()


def _lightning_stop() -> type:
    # The package is installed under two names, whose classes do not mix: take the one that is in use.
    if "pytorch_lightning" in sys.modules and "lightning" not in sys.modules:
        from pytorch_lightning import Callback
    else:
        from lightning.pytorch import Callback

    class LightningStop(Callback):
        """Stops the training once the watch says so, at the end of an epoch or every `every_n_steps` batches.

        With `checkpoints` it marks that folder as done at the end, and takes that back when it begins again.
        """

        def __init__(
            self, folder: str | Path, checkpoints: str | Path | None = None, every_n_steps: int = 100
        ) -> None:
            self.folder, self.checkpoints, self.every_n_steps = folder, checkpoints, every_n_steps

        def _ask(self, trainer: Any) -> None:
            if should_stop(self.folder):
                trainer.should_stop = True

        def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
            if self.checkpoints is not None:
                mark_begun(self.checkpoints)

        def on_train_batch_end(
            self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
        ) -> None:
            if (batch_idx + 1) % self.every_n_steps == 0:
                self._ask(trainer)

        def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
            self._ask(trainer)

        def on_fit_end(self, trainer: Any, pl_module: Any) -> None:  # the last checkpoint is written before
            if self.checkpoints is not None:
                mark_done(self.checkpoints)

    return LightningStop


def _trainer_stop() -> type:
    from transformers import TrainerCallback

    class TrainerStop(TrainerCallback):
        """Stops the training once the watch says so, at a checkpoint, an epoch's end or every `every_n_steps` steps.

        At the end it marks the trainer's output_dir as done, and takes that back when it begins again.
        """

        def __init__(self, folder: str | Path, every_n_steps: int = 100) -> None:
            self.folder, self.every_n_steps = folder, every_n_steps

        def _ask(self, control: Any) -> None:
            if should_stop(self.folder):
                control.should_training_stop = True

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            mark_begun(args.output_dir)

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step % self.every_n_steps == 0:
                self._ask(control)

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self._ask(control)

        def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self._ask(control)

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            mark_done(args.output_dir)

    return TrainerStop


_CALLBACKS = {"LightningStop": _lightning_stop, "TrainerStop": _trainer_stop}


def __getattr__(name: str) -> Any:
    """Makes a callback's class when it is first asked for, so that neither package is needed without it."""
    if name not in _CALLBACKS:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    made = _CALLBACKS[name]()
    made.__qualname__ = name  # of this module, so that it can be pickled for processes that are spawned
    globals()[name] = made
    return made
