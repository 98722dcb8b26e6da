"""The engine on CPUs: Tally's loop beside those of its rivals, network by network."""

import functools
import itertools
import math
import random
import statistics
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace

from commands import Case, Layout
from contenders import PYTORCH, RIVALS, Figures, Rival, RivalError, Started, Work, tally
from rounds import in_turn, median
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
DRAWN, SEED = 10, 20261124


def known_networks(setup: Setup) -> Table:
    return _beside("known_networks", "Networks that the engine was made with", setup, KNOWN)


def families(setup: Setup) -> Table:
    return _beside("families", "Other families of networks", setup, FAMILIES)


def drawn_networks(setup: Setup) -> Table:
    title = f"{DRAWN} networks drawn from timm's list by the seed {SEED}: nobody tuned for them"
    return _beside("drawn_networks", title, setup, draw())


def draw() -> list[str]:
    """Of those that take images of at most 256 pixels and have at most 60 million weights, one of a family."""
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
        with torch.device("meta"):
            weights = sum(one.numel() for one in timm.create_model(name).parameters())
        if weights <= 60e6:
            drawn[family] = name
        if len(drawn) == DRAWN:
            break
    return list(drawn.values())


def _beside(name: str, title: str, setup: Setup, names: Iterable[str]) -> Table:
    """A row for each network, precision and layout; ratios are medians over the rounds, with the least and the most.

    Rows that are in the folder of results already are not measured again.
    """
    columns = ["network", "precision", "processes x threads", *RIVALS, *OURS, "Tally / fastest of PyTorch",
               "Tally / fastest"]  # fmt: skip
    table = Table(name, f"{title}: samples per second in the loop", columns)
    means: dict[tuple[str, str], list[list[float]]] = {}
    wanted = [one for one in names if setup.networks is None or one in setup.networks]
    for network, precision, layout in itertools.product(wanted, setup.precisions, LAYOUTS):
        case = setup.cases.network(network)
        packages = ["with .pt2"] if setup.packages else []
        found = setup.measured.get_or_run(
            [network, case.data.name, precision, str(layout), f"{setup.rounds} rounds", *packages],
            functools.partial(_measure, setup, case, precision, layout))
        ratios = [_ratios(found, among) for among in (PYTORCH, RIVALS)]
        rates = [median(found[one], "per_s") if one in found else "-" for one in (*RIVALS, *OURS)]
        row = [network, precision, str(layout), *rates, *map(_spread, ratios)]
        print(" | ".join(map(str, row)), file=sys.stderr, flush=True)
        table.rows.append(row)
        if all(ratios):
            means.setdefault((precision, str(layout)), []).append([statistics.median(one) for one in ratios])
    for (precision, layout), pairs in means.items():
        table.rows.append(["geometric mean", precision, layout, *[""] * (len(RIVALS) + len(OURS)),
                           *(statistics.geometric_mean(column) for column in zip(*pairs, strict=True))])  # fmt: skip
    return table


def _measure(setup: Setup, case: Case, precision: str, layout: Layout) -> dict[str, list[Figures]]:
    work = Work(case, setup.cases.onnx(case), _num_samples(setup, case), precision)
    with Started(work, layout) as started:
        ways = {name: functools.partial(_unless_it_dies, rival) for name, rival in started.rivals.items()}
        ways[PLAIN] = tally(work, setup.tally, layout, "--cpu-kernels", "torch")
        package = setup.cases.package(case) if setup.packages and precision == "fp32" else None
        if package:
            ways[PACKAGE] = tally(replace(work, case=replace(case, model=package)), setup.tally, layout)
        ways[TALLY] = tally(work, setup.tally, layout)
        found = in_turn(ways, setup.rounds)
    return _of_the_same_work({name: rounds for name, rounds in found.items() if all(rounds)}, precision)


def _of_the_same_work(found: dict[str, list[Figures]], precision: str) -> dict[str, list[Figures]]:
    """Leaves out who does not find Tally's classes: it evaluates something else. Rounding moves a few."""
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


def _unless_it_dies(rival: Rival) -> Figures:
    try:
        return rival.run()
    except RivalError:
        return {}


def _num_samples(setup: Setup, case: Case) -> int:
    """Whole batches, as many for each of two ranks."""
    step = 2 * case.batch_size
    rate = step / setup.tally.run(case, Layout(1, 2), "--limit", step)["loop_s"]
    return step * max(2, min(math.ceil(rate * SECONDS / step), setup.cases.num_samples(case) // step))


def _ratios(found: dict[str, list[Figures]], among: Iterable[str]) -> list[float]:
    """Of each round: Tally's rate over that of the rival that is the fastest in the median."""
    best = max((name for name in among if name in found), key=lambda name: median(found[name], "per_s"), default=None)
    if best is None:
        return []
    return [ours["per_s"] / other["per_s"] for ours, other in zip(found[TALLY], found[best], strict=True)]


def _spread(ratios: list[float]) -> str:
    if not ratios:
        return "-"
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"


NETWORK_BENCHMARKS: dict[str, Callable[[Setup], Table]] = {
    one.__name__: one for one in (known_networks, families, drawn_networks)
}
