# SPDX-License-Identifier: Apache-2.0
"""Compiles a module with AOTInductor into a .pt2 package and proves that it gives what the module gives.

Imported and used inside silence_inductor() only: the import alone makes a folder.
"""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from torch import nn
from torch._inductor import cpp_builder, cpu_vec_isa
from torch._inductor import config as inductor
from torch.export.pt2_archive._package import package_pt2

from tally_data.errors import EnvironmentFault, ModelError

from .compiler_output import check_files, check_linked
from .gpu import gpu_compiler, largest_batch
from .verify_export import Batch, Checks, reproduces
from .training_mode import Finding, of_program

MOST_SAMPLES = 1 << 24
CPU_ISAS = {"default": None, "avx2": 256, "avx512": 512}
# The levels of x86-64 that -march knows, by vector width: Inductor's own choice, -march=native, would tie a package to
# this very processor without saying so.
_LEVELS = {256: "x86-64-v3", 512: "x86-64-v4"}
# What the levels hold, and what -m words say, as /proc/cpuinfo calls it.
_LEVEL_FEATURES = {
    256: "avx avx2 bmi1 bmi2 f16c fma abm movbe",
    512: "avx avx2 bmi1 bmi2 f16c fma abm movbe avx512f avx512bw avx512cd avx512dq avx512vl",
}
_FEATURES = {
    "avx512vnni": "avx512_vnni", "avx512bf16": "avx512_bf16", "amx-tile": "amx_tile", "amx-bf16": "amx_bf16",
    "amx-int8": "amx_int8", "amx-fp16": "amx_fp16",
}  # fmt: skip


@dataclass(frozen=True)
class PackageOptions:
    """fixed_batch: the only batch size, or None for any; cpu_isa: a key of CPU_ISAS.

    open_sizes: where the model takes sequences, the dimensions beside the batch that may vary, with their most.
    """

    device: str
    swappable: bool
    fixed_batch: int | None
    cpu_isa: str
    max_autotune: bool
    open_sizes: Mapping[int, tuple[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Compiled:
    """Files of the compiler, which live as long as its folder."""

    files: list[str]
    facts: dict[str, Any]  # for the card
    training_mode: list[Finding]

    @property
    def code(self) -> str:
        return next(file for file in self.files if file.endswith(".so"))


def check_device(device: str) -> None:
    if device == "cuda" and not torch.cuda.is_available():
        raise EnvironmentFault(
            "there is no GPU here: a package for CUDA is compiled on a machine with the GPU it is to run on"
        )


def _layout(shape: torch.Size) -> str:
    """Images channels last: so tally prepares them, and so convolutions want them.

    Of images with one channel both layouts are the same, and the compiler takes the one for the other (PyTorch 2.11).
    """
    return "channels-last" if len(shape) == 4 and shape[1] > 1 else "contiguous"


def laid_out(checks: Checks, device: str) -> Checks:
    def of_batch(batch: Batch) -> Batch:
        return tuple(_laid_out(tensor, device) for tensor in batch)

    return Checks([*map(of_batch, checks.usual)], [*map(of_batch, checks.unlike)], checks.names)


def _laid_out(tensor: torch.Tensor, device: str) -> torch.Tensor:
    """With the very strides of its layout, also where a size of 1 leaves them open.

    Compiled code takes it for granted that its inputs have the strides of the example.
    """
    strides = torch.empty(tensor.shape, device="meta").stride()
    if _layout(tensor.shape) == "channels-last":
        _, channels, height, width = tensor.shape
        strides = (height * width * channels, 1, width * channels, channels)
    return torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=device).copy_(tensor)


def _run_here(command: list[str], **_: Any) -> None:
    """Inductor loads a library for each instruction set in a new Python, which takes 2 s to load PyTorch first."""
    try:
        exec(command[-1], {})
    except Exception as error:
        raise subprocess.CalledProcessError(1, command) from error


@contextmanager
def _instruction_set(options: PackageOptions) -> Iterator[list[str]]:
    """Compiles for a stated instruction set; yields the processor features that it needs."""
    width = CPU_ISAS[options.cpu_isa]
    # PyTorch 2.15 calls run() instead.
    here = SimpleNamespace(**vars(subprocess) | {"check_call": _run_here, "run": _run_here})
    with inductor.patch({"cpp.simdlen": width}), mock.patch.object(cpu_vec_isa, "subprocess", here):
        isa = cpu_vec_isa.pick_vec_isa()
    if width is not None and isa.bit_width() != width:
        raise EnvironmentFault(
            f"this machine (processor or compiler) cannot compile for {options.cpu_isa}; leave --cpu-isa out or choose "
            "another"
        )
    level = _LEVELS.get(isa.bit_width()) if os.uname().machine == "x86_64" else None
    if level is None:
        yield []
        return
    original = cpp_builder._get_optimization_cflags

    def flags(*arguments: Any, **more: Any) -> tuple[list[str], list[str]]:
        compile_flags, link_flags = original(*arguments, **more)
        return [f"march={level}" if flag == "march=native" else flag for flag in compile_flags], link_flags

    words = [word.removeprefix("-m") for word in isa.build_arch_flags().split()]
    features = {_FEATURES.get(word, word) for word in words} | set(_LEVEL_FEATURES[isa.bit_width()].split())
    with mock.patch.object(cpp_builder, "_get_optimization_cflags", flags):
        yield sorted(features)


def _settings(options: PackageOptions) -> dict[str, Any]:
    settings = {
        "aot_inductor.package": True,
        "aot_inductor.check_lowerbound": False,  # else batches smaller than the example are refused
        "aot_inductor.precompile_headers": False,  # pays for many packages, and fills a folder of its own
        "cpp.dynamic_threads": True,  # else as many threads as there were here, whatever --threads says
        "cpp.simdlen": CPU_ISAS[options.cpu_isa],
        "freezing": not options.swappable,
        "max_autotune": options.max_autotune,
        "always_keep_tensor_constants": options.swappable,  # else weights of up to 8 values become part of the code
    }
    if options.device == "cuda":
        settings["aot_inductor.embed_kernel_binary"] = True  # one library and no files beside it
    return settings


def device_compiler(device: str) -> AbstractContextManager[None]:
    """Packages are compiled and compared within it."""
    return gpu_compiler() if device == "cuda" else nullcontext()


def _open_sizes(example: Batch, options: PackageOptions, most: int) -> tuple[dict[int, Any], ...] | None:
    """For each input its dimensions that may vary."""
    sizes = {}
    if options.fixed_batch is None:
        sizes[0] = torch.export.Dim("batch", min=1, max=most)
    for at, (name, largest) in options.open_sizes.items():
        sizes[at] = torch.export.Dim(name, min=1, max=largest)
    return tuple(sizes for _ in example) if sizes else None


def _largest_batch(module: nn.Module, example: Batch, options: PackageOptions) -> int | None:
    """None: of any size. Of sequences the example says nothing, which may be longer."""
    is_limited = options.device == "cuda" and options.fixed_batch is None and not options.open_sizes
    return largest_batch(module, example) if is_limited else None


def compile_package(module: nn.Module, example: Batch, options: PackageOptions) -> Compiled:
    """`example` is laid out."""
    settings = _settings(options)
    try:
        most = _largest_batch(module, example, options)
        shapes = _open_sizes(example, options, most or MOST_SAMPLES)
        with torch.no_grad(), _instruction_set(options) as features:
            program = torch.export.export(module, example, dynamic_shapes=shapes)
            findings = of_program(program)
            files = torch._inductor.aot_compile(program.module(check_guards=False), example, options=settings)
    except EnvironmentFault:
        raise
    except Exception as error:
        reason = (str(error).strip().splitlines() or [""])[0]
        hint = "" if options.fixed_batch else "; perhaps --batch-size N, for one size of batch, helps"
        raise ModelError(f"no package can be made ({type(error).__name__}: {reason}){hint}") from error
    names = [file for file in files if isinstance(file, str)]
    check_files(names)
    compiled = Compiled(names, {"layout": _layout(example[0].shape), "cpu_features": features}, findings)
    if most is not None:
        compiled.facts["largest_batch"] = most
    check_linked(Path(compiled.code))
    compiled.facts["library_sha256"] = hashlib.sha256(Path(compiled.code).read_bytes()).hexdigest()
    return compiled


def save_package(compiled: Compiled, path: Path, card: dict[str, Any]) -> None:
    """Writes `path` with the card beside the compiler's own facts."""
    text = json.dumps(card)
    for file in map(Path, compiled.files):
        if file.suffix == ".json":
            file.write_text(json.dumps(json.loads(file.read_text()) | {"tally": text}))
    with tempfile.TemporaryDirectory(prefix="tally-export-") as folder:
        package = Path(folder) / "model.pt2"
        package_pt2(str(package), aoti_files=compiled.files)
        shutil.copyfile(package, path)
    with zipfile.ZipFile(path) as archive:
        library = next(name for name in archive.namelist() if name.endswith(".so"))
        if hashlib.sha256(archive.read(library)).hexdigest() != compiled.facts["library_sha256"]:
            raise ModelError("the compiled library does not come back from the written file")


Runner = Any  # of torch._C._aoti, without a public name


def _check_names(runner: Runner, module: nn.Module) -> list[str]:
    """Every weight can be replaced by its name; returns the names that are in no state_dict."""
    found = set(runner.get_constant_names_to_original_fqns().values())
    state = {name for name in module.state_dict() if not name.endswith("num_batches_tracked")}
    if lost := sorted(state - found):
        raise ModelError(
            f"no package with --swappable can be made: {len(lost)} weights have no place of their own in it, first "
            f"'{lost[0]}'; use --format torchscript"
        )
    return sorted(found - state)


def _change_weights(runner: Runner, module: nn.Module) -> None:
    """In both, by a little."""
    state = {name: value for name, value in module.state_dict().items() if value.is_floating_point()}
    for value in state.values():
        value.mul_(1.05)
    names = runner.get_constant_names_to_original_fqns()
    runner.update_constant_buffer({own: state[name] for own, name in names.items() if name in state}, False, False)


def verify_package(
    compiled: Compiled, options: PackageOptions, module: nn.Module, checks: Checks
) -> list[str]:
    """Raises ModelError if the compiled library does not give what the module gives, swappable weights changed too.

    Returns the fixed buffers of a swappable package. The module's weights may be changed afterwards.
    """
    kind = {"cpu": "AOTIModelContainerRunnerCpu", "cuda": "AOTIModelContainerRunnerCuda"}[options.device]
    runner = getattr(torch._C._aoti, kind)(compiled.code, 1)

    def compare(what: str) -> None:
        wrong = reproduces(lambda *batch: tuple(runner.run(list(batch))), module, checks)
        if wrong is not None:
            raise ModelError(f"the compiled package does not reproduce the model{what}: {wrong}")

    compare("")
    if not options.swappable:
        return []
    fixed_buffers = _check_names(runner, module)
    _change_weights(runner, module)
    compare(" when its weights are replaced")
    return fixed_buffers
