"""Makes a TorchScript of a module and proves that the file gives what the module gives."""

import json
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tally_data.errors import ModelError, OutputError

from .card import CARD_NAME
from .reproduce import Batch, Names, reproduces


def make_torchscript(
    module: nn.Module, example: Batch, others: list[Batch], names: Names, script: bool
) -> tuple[torch.jit.ScriptModule, str]:
    """Traces, or scripts where tracing fails or does not carry over to other batches. Returns also which of them."""
    if isinstance(module, torch.jit.ScriptModule):
        return module, "as it was"
    reason = "--script was given"
    if not script:
        try:
            with torch.no_grad():
                traced = torch.jit.trace(module, example, check_trace=False, strict=False)  # dicts and lists, too
            reason = reproduces(traced, module, others, names)
            if reason is None:
                return traced, "traced"
        except Exception as error:
            reason = f"tracing failed ({str(error).strip().splitlines()[0]})"
    try:
        return torch.jit.script(module), "scripted"
    except Exception as error:
        detail = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ModelError(f"no TorchScript can be made: {reason}; scripting failed ({detail})") from error


def keeps_weights(exported: torch.jit.ScriptModule, module: nn.Module) -> bool:
    """Whether every tensor of the state_dict can be replaced by its name."""
    names = set(module.state_dict())
    return bool(names) and names <= set(exported.state_dict())


def fixed_buffers(exported: torch.jit.ScriptModule, module: nn.Module) -> list[str]:
    """Buffers that no state_dict of the module holds (persistent=False); a TorchScript stores them all the same."""
    return sorted(set(exported.state_dict()) - set(module.state_dict()))


def save_and_verify(
    exported: torch.jit.ScriptModule,
    path: Path,
    card: dict[str, Any],
    module: nn.Module,
    batches: list[Batch],
    names: Names,
) -> None:
    """Writes `path`, reads it back and compares it with the module. Raises ModelError if they differ."""
    try:
        torch.jit.save(exported, str(path), _extra_files={CARD_NAME: json.dumps(card, indent=1)})
    except RuntimeError as error:
        raise OutputError(f"the model cannot be written: {str(error).splitlines()[0]}") from error
    extra = {CARD_NAME: ""}
    reloaded = torch.jit.load(str(path), map_location="cpu", _extra_files=extra)
    if json.loads(extra[CARD_NAME]) != card:
        raise ModelError("the model card does not come back from the written file")
    wrong = reproduces(reloaded, module, batches, names)
    if wrong is not None:
        raise ModelError(f"the written TorchScript does not reproduce the model: {wrong}")


def quiet_torchscript() -> None:
    """PyTorch 2.11 warns on each use that TorchScript is deprecated; tracing warns of every shape it reads."""
    warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"torch\.jit")
    warnings.filterwarnings("ignore", message=".*torch.jit.*", category=DeprecationWarning)
    warnings.filterwarnings("ignore", category=torch.jit.TracerWarning)
    # Tracing looks at every property of a module, the deprecated ones too.
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
