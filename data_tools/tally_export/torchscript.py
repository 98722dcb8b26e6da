# SPDX-License-Identifier: Apache-2.0
"""Makes a TorchScript of a module and proves that the file gives what the module gives."""

import json
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tally_data.errors import ModelError, OutputError

from .recipe_like import CARD_NAME
from .decisions import recorded_decisions
from .verify_export import Batch, Checks, reproduces
from .training_mode import of_torchscript, training_notes


@dataclass(frozen=True)
class Made:
    """how: traced, scripted or as it was; remaining: what its file is to be checked with; notes: for the user."""

    module: torch.jit.ScriptModule
    how: str
    remaining: Checks
    notes: list[str]


def make_torchscript(module: nn.Module, example: Batch, checks: Checks, script: bool) -> Made:
    """Traces, or scripts where tracing fails or does not carry over to other batches."""
    if isinstance(module, torch.jit.ScriptModule):
        return _made(module, "as it was", checks, [])
    reason = "--script was given"
    if not script:
        try:
            with torch.no_grad(), recorded_decisions() as decisions:
                traced = torch.jit.trace(module, example, check_trace=False, strict=False)  # dicts and lists, too
            reason = reproduces(traced, module, checks)
            if reason is None:
                return _made(traced, "traced", replace(checks, unlike=[]), _decision_notes(decisions))
            if decisions:
                reason += f", which decides by its data at {decisions[0]}"
        except Exception as error:
            reason = f"tracing failed ({str(error).strip().splitlines()[0]})"
    try:
        return _made(torch.jit.script(module), "scripted", checks, [])
    except Exception as error:
        detail = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ModelError(f"no TorchScript can be made: {reason}; scripting failed ({detail})") from error


def _made(module: torch.jit.ScriptModule, how: str, remaining: Checks, notes: list[str]) -> Made:
    return Made(module, how, remaining, notes + training_notes(of_torchscript(module)))


def _decision_notes(decisions: list[str]) -> list[str]:
    if not decisions:
        return []
    more = f" and {len(decisions) - 1} more places" if len(decisions) > 1 else ""
    return [
        f"the model decides by its data at {decisions[0]}{more}; the trace keeps what was decided for an example, which "
        "was right for all batches tried: --script compiles the source instead"
    ]


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
    checks: Checks,
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
    wrong = reproduces(reloaded, module, checks)
    if wrong is not None:
        raise ModelError(f"the written TorchScript does not reproduce the model: {wrong}")


def quiet_torchscript() -> None:
    """PyTorch 2.11 warns on each use that TorchScript is deprecated."""
    warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"torch\.jit")
    warnings.filterwarnings("ignore", message=".*torch.jit.*", category=DeprecationWarning)
    # Tracing looks at every property of a module, the deprecated ones too.
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
