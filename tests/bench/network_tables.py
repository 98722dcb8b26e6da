# SPDX-License-Identifier: Apache-2.0
"""The engine on CPUs: Tally's loop beside those of its rivals, network by network."""

import contextlib
import functools
import itertools
import math
import os
import random
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import networks
from commands import Case, CommandError, Layout
from contenders import PYTORCH, RIVALS, Figures, Started, Work, tally
from rounds import in_turn, median, text_of_range
from table import Table
from tables import Setup

TALLY, PLAIN, PACKAGE = "Tally", "Tally, LibTorch's kernels", "Tally, .pt2"
OURS = [PLAIN, PACKAGE, TALLY]
LAYOUTS = [Layout(1, 2), Layout(2, 1)]
SECONDS = 2.0  # of a loop, about
# Those that decisions on the engine look at.
KNOWN = ["resnet18", "resnet50", "squeezenet1_1", "mnist_convnet", "mobilenetv3_large_100", "efficientnet_b0", "convnext_atto",
         "vit_tiny_patch16_224", "swin_tiny_patch4_window7_224"]  # fmt: skip
# The main families of torchvision and timm, and of transformers.
FAMILIES = ["alexnet", "vgg11", "resnet34", "resnext50_32x4d", "densenet121", "googlenet", "mobilenet_v2", "mnasnet1_0",
            "shufflenet_v2_x1_0", "regnetx_008", "regnety_008", "mobilenetv4_conv_small", "tf_efficientnetv2_b0", "rexnet_100",
            "ghostnet_100", "repvgg_a0", "res2net50_26w_4s", "cspresnet50", "hrnet_w18_small", "convnextv2_atto",
            "edgenext_xx_small", "mobilevit_xxs", "efficientformer_l1", "levit_128s", "poolformer_s12", "mixer_s32_224",
            "deit_small_patch16_224", "bert_base", "gpt2"]  # fmt: skip
DRAWN, SEED = 10, 20261127
# On a processor without AVX-512, which oneDNN and LibTorch imitate. Nothing says that ONNX Runtime and OpenVINO obey these.
IMITATED = ["resnet50", "mobilenetv3_large_100", "efficientnet_b0", "vit_tiny_patch16_224"]
AVX2 = {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}


def known_networks(setup: Setup) -> list[Table]:
    return _beside("known_networks", "Networks that the engine was made with", setup, KNOWN)


def families(setup: Setup) -> list[Table]:
    return _beside("families", "Other families of networks", setup, FAMILIES)


def drawn_networks(setup: Setup) -> list[Table]:
    title = f"{DRAWN} networks drawn from timm's list by the seed {SEED}: nobody tuned for them"
    return _beside("drawn_networks", title, setup, draw())


def imitated_avx2(setup: Setup) -> list[Table]:
    words = " ".join(f"{name}={value}" for name, value in AVX2.items())
    wanted = [one for one in IMITATED if setup.networks is None or one in setup.networks]
    with _environment(AVX2):
        return [_table("imitated_avx2", f"A processor without AVX-512, imitated by {words}", setup, wanted, "fp32", tuple(PYTORCH))]


@contextlib.contextmanager
def _environment(more: dict[str, str]) -> Iterator[None]:
    """Of the commands that are run in the block."""
    before = {name: os.environ.get(name) for name in more}
    os.environ.update(more)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def draw() -> list[str]:
    """Of those that take images of at most 256 pixels, know CLASSES and have at most 60 million weights, one of a family."""
    import timm
    import torch

    names = timm.list_models()
    random.Random(SEED).shuffle(names)
    drawn: dict[str, str] = {}
    for name in names:
        size = timm.get_pretrained_cfg(name, allow_unregistered=True)
        family = timm.models.model_entrypoint(name).__module__
        if size is None or family in drawn or size.input_size[-1] > 256 or name in KNOWN + FAMILIES:
            continue
        if size.num_classes != networks.CLASSES:
            continue
        with torch.device("meta"):
            weights = sum(one.numel() for one in timm.create_model(name).parameters())
        if weights <= 60e6:
            drawn[family] = name
        if len(drawn) == DRAWN:
            break
    return list(drawn.values())


def _beside(name: str, title: str, setup: Setup, names: Iterable[str]) -> list[Table]:
    """A table for each precision; a row for each network and layout; ratios are medians over the rounds, with the least
    and the most.

    Rows that are in the folder of results already are not measured again.
    """
    wanted = [one for one in names if setup.networks is None or one in setup.networks]
    return [_table(f"{name} {precision}", f"{title}, {precision}", setup, wanted, precision) for precision in setup.precisions]


def _table(name: str, title: str, setup: Setup, names: list[str], precision: str, rivals: Sequence[str] = tuple(RIVALS)) -> Table:
    columns = ["network", "processes x threads", *rivals, *OURS, "Tally / fastest of PyTorch", "Tally / fastest"]
    table = Table(name, f"{title}: samples per second in the loop", columns)
    means: dict[str, list[list[float]]] = {}
    for network, layout in itertools.product(names, LAYOUTS):
        case = setup.cases.network(network, precision)
        packages = ["with .pt2"] if setup.packages else []
        caps = [f"{name}={os.environ[name]}" for name in AVX2 if name in os.environ]
        found = setup.measured.get_or_run(
            [network, case.data.name, precision, str(layout), f"{setup.rounds} rounds", *packages, *caps],
            functools.partial(_measure, setup, case, precision, layout, rivals))  # fmt: skip
        ratios = [_ratios(found, among) for among in (PYTORCH, RIVALS)]
        rates = [median(found[one], "per_s") if one in found else "-" for one in (*rivals, *OURS)]
        row = [network, str(layout), *rates, *map(_spread, ratios)]
        print(" | ".join(map(str, row)), file=sys.stderr, flush=True)
        table.rows.append(row)
        for column, one in zip(means.setdefault(str(layout), [[] for _ in ratios]), ratios, strict=True):
            column += [statistics.median(one)] if one else []
    for layout, columns in means.items():
        table.rows.append(["geometric mean", layout, *[""] * (len(rivals) + len(OURS)),
                           *(statistics.geometric_mean(column) if column else "-" for column in columns)])  # fmt: skip
    return table


def _measure(setup: Setup, case: Case, precision: str, layout: Layout, rivals: Sequence[str]) -> dict[str, list[Figures]]:
    work = Work(case, setup.cases.onnx(case), _num_samples(setup, case), precision, tuple(rivals))
    with Started(work, layout) as started:
        ways = {name: rival.run for name, rival in started.rivals.items()}
        ways[PLAIN] = tally(work, setup.tally, layout, "--cpu-kernels", "torch")
        package = setup.cases.package(case) if setup.packages and precision == "fp32" else None
        if package:
            ways[PACKAGE] = tally(replace(work, case=replace(case, model=package)), setup.tally, layout)
        ways[TALLY] = tally(work, setup.tally, layout)
        found = in_turn({name: functools.partial(_unless_it_fails, way) for name, way in ways.items()}, setup.rounds)
    return _of_the_same_work({name: rounds for name, rounds in found.items() if all(rounds)}, precision)


def _of_the_same_work(found: dict[str, list[Figures]], precision: str) -> dict[str, list[Figures]]:
    """Leaves out who does not find Tally's classes: it evaluates something else. Rounding moves a few."""
    if TALLY not in found:
        return {}
    least = {"fp32": 0.98, "bf16": 0.8}[precision]
    ours = found[TALLY][0]["classes"]
    same: dict[str, list[Figures]] = {}
    for name, rounds in found.items():
        agreement = statistics.mean(a == b for one in rounds for a, b in zip(one["classes"], ours, strict=True))
        if agreement >= least:
            same[name] = [{"per_s": one["per_s"], "agreement": agreement} for one in rounds]
        else:
            print(f"{name} is left out: it finds Tally's class for {agreement:.0%} of the samples", file=sys.stderr)
    return same


def _unless_it_fails(way: Callable[[], Figures]) -> Figures:
    try:
        return way()
    except CommandError as error:
        print(error, file=sys.stderr)
        return {}


def _num_samples(setup: Setup, case: Case) -> int:
    """Whole batches, as many for each of two ranks."""
    step = 2 * case.batch_size
    rate = step / setup.tally.run(case, Layout(1, 2), "--limit", step)["loop_s"]
    return step * max(2, min(math.ceil(rate * SECONDS / step), setup.cases.num_samples(case) // step))


def _ratios(found: dict[str, list[Figures]], among: Iterable[str]) -> list[float]:
    """Of each round: Tally's rate over that of the rival that is the fastest in the median."""
    best = max((name for name in among if name in found), key=lambda name: median(found[name], "per_s"), default=None)
    if best is None or TALLY not in found:
        return []
    return [ours["per_s"] / other["per_s"] for ours, other in zip(found[TALLY], found[best], strict=True)]


def _spread(ratios: list[float]) -> str:
    return text_of_range(ratios) if ratios else "-"


NETWORK_BENCHMARKS: dict[str, Callable[[Setup], list[Table]]] = {
    one.__name__: one for one in (known_networks, families, drawn_networks, imitated_avx2)
}
