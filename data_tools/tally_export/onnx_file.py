# SPDX-License-Identifier: Apache-2.0
"""Writes a module as an ONNX file and proves that OpenVINO, which tally runs it with, gives what the module gives."""

import contextlib
import io
import json
import logging
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tally_data.errors import EnvironmentFault, ModelError

from .recipe_like import CARD_KEY
from .sequences import SequenceForm
from .verify_export import Batch, Checks, reproduces

_LARGEST = 2**31 - 1  # bytes of a message of protobuf, which an ONNX file is


def check_packages() -> None:
    """Raises EnvironmentFault where what writes, reads and runs ONNX files is not installed."""
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
        import openvino  # noqa: F401
    except ImportError as error:
        raise EnvironmentFault(
            f"--format onnx needs the Python package '{error.name}', which is not installed: run jobs/setup.sh "
            "--with-openvino"
        ) from error


def _open_sizes(form: Any, example: Batch, fixed_batch: int | None) -> tuple[dict[int, Any], ...] | None:
    """For each input its dimensions that may vary."""
    sizes: dict[int, Any] = {} if fixed_batch else {0: torch.export.Dim("batch", min=1)}
    if isinstance(form, SequenceForm):
        for at, (name, largest) in form.open_sizes.items():
            sizes[at] = torch.export.Dim(name, min=1, max=largest)
    return tuple(sizes for _ in example) if sizes else None


def _convert(module: nn.Module, form: Any, example: Batch, card: dict[str, Any]) -> Any:
    """torch.onnx.ONNXProgram"""
    names = {key: [entry["name"] for entry in card[key]] for key in ("inputs", "outputs")}
    # The exporter prints the graph where it fails; the error below says in one line what is wrong.
    printed = io.StringIO()
    with warnings.catch_warnings(), torch.no_grad(), contextlib.redirect_stderr(printed), contextlib.redirect_stdout(printed):
        warnings.simplefilter("ignore")
        torch._logging.set_logs(all=logging.ERROR)
        try:
            program = torch.onnx.export(
                module, example, input_names=names["inputs"], output_names=names["outputs"], dynamo=True, verbose=False,
                dynamic_shapes=_open_sizes(form, example, card["fixed_batch"]),
            )  # fmt: skip
        except Exception as error:
            cause = error.__cause__ or error  # the exporter's own error says only that it failed
            reason = (str(cause).strip().splitlines() or [""])[0]
            hint = "" if card["fixed_batch"] else "; perhaps --batch-size N, for one size of batch, helps"
            raise ModelError(f"no ONNX file can be made ({type(cause).__name__}: {reason}){hint}") from error
    returned = [output.name for output in program.model.graph.outputs]
    if returned != names["outputs"]:
        raise ModelError(f"the ONNX file would return {', '.join(returned)}, expected {', '.join(names['outputs'])}")
    return program


def save_and_verify(module: nn.Module, form: Any, card: dict[str, Any], path: Path, checks: Checks) -> None:
    """Writes `path`, with the card in it; the first batch of the checks is the example. Raises ModelError."""
    import openvino

    storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in module.state_dict().values()}
    if (num_bytes := sum(storages.values())) > _LARGEST:
        raise ModelError(f"its weights have {num_bytes} bytes, an ONNX file holds less than 2 GiB: use --format torchscript")
    program = _convert(module, form, checks.usual[0], card)
    program.model.metadata_props[CARD_KEY] = json.dumps(card)
    core = openvino.Core()
    try:
        program.save(str(path), external_data=False)
        compiled = core.compile_model(core.read_model(str(path)), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    except (RuntimeError, ValueError) as error:
        reason = [line for line in str(error).splitlines() if line.strip()]
        raise ModelError(f"OpenVINO does not take the ONNX file: {reason[-1] if reason else error!r}") from error

    def run(*batch: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found = compiled([tensor.numpy() for tensor in batch])
        return tuple(torch.from_numpy(found[output].copy()) for output in compiled.outputs)

    if (wrong := reproduces(run, module, checks)) is not None:
        raise ModelError(f"the ONNX file does not reproduce the model: {wrong}")
