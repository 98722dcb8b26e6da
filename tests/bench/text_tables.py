# SPDX-License-Identifier: Apache-2.0
"""Language models and models of texts, against the loops and engines that their users have."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from cases import ROOT
from commands import Case, Layout, allocator, environment, timed, tool
from rounds import in_turn, median, range_of_ratio
from table import Table
from tables import Setup

HERE = Path(__file__).resolve().parent
LENGTH, STRIDE = 512, 256  # tokens of a window, and from one to the next
WINDOWS = 192  # of SQuAD
LAYOUTS = (Layout(1, 2), Layout(2, 1))
RIVALS = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "eager": "transformers, sorted by length",
          "kept": "transformers, last places only", "compile": "transformers, torch.compile"}  # fmt: skip
Work = Callable[[], dict[str, float]]


class Model:
    """Of transformers with random weights, and written for Tally and for ONNX."""

    def __init__(self, setup: Setup, name: str, make: Callable[[], torch.nn.Module]) -> None:
        self.setup, self.name = setup, name
        self.folder, self.script, self.onnx = (setup.folder / f"{name}{end}" for end in ("", ".pt", ".onnx"))
        torch.manual_seed(0)
        make().eval().save_pretrained(self.folder)
        for form, file in (("torchscript", self.script), ("onnx", self.onnx)):
            tool("export_model.py", "--model", f"hf:{self.folder}", "--format", form, "--output", file)

    def tally(self, data: Path, batch: int, layout: Layout, *options: object) -> dict[str, float]:
        figures = self.setup.tally.run(Case(self.name, self.script, data, batch), layout, *options)
        report = json.loads((self.setup.folder / "tally" / "report.json").read_text())
        loss = report["metrics"].get("loss", {"value": 0.0})["value"]
        return {"per_s": report["samples"]["evaluated"] / figures["loop_s"], "figure": loss}

    def rival(self, engine: str, data: Path, batch: int, samples: int) -> dict[str, float]:
        command = [sys.executable, HERE / "text_rivals.py", engine, self.folder, self.onnx, data, batch, samples, 2]
        # OpenVINO dies under a preloaded allocator.
        preload = {} if engine == "openvino" else {"LD_PRELOAD": str(allocator())}
        out, _ = timed(command, environment(OMP_NUM_THREADS="2", **preload))
        return json.loads(out.splitlines()[-1])


def _gpt2() -> torch.nn.Module:
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config(n_layer=6))


def _bert() -> torch.nn.Module:
    from transformers import BertConfig, BertForQuestionAnswering

    return BertForQuestionAnswering(BertConfig())


def documents(setup: Setup) -> Table:
    """Perplexity of documents by windows that overlap."""
    table = Table("documents", f"GPT-2 of 6 layers, texts of 400 to 3600 bytes, windows of {LENGTH} tokens every {STRIDE}, 2 cores: windows per second",
                  ["", "windows/s", "Tally 1 x 2 / it (least and most)", "relative difference of the losses"])  # fmt: skip
    source = (ROOT / "docs" / "metrics.md").read_text(encoding="ascii", errors="ignore")
    texts = [source[700 * i :][: 400 * (i % 9 + 1)] for i in range(9)]
    text_file, lines, data = (setup.folder / name for name in ("texts.json", "texts.jsonl", "texts.h5"))
    text_file.write_text(json.dumps(texts))
    lines.write_text("".join(json.dumps({"id": str(i), "text": text}) + "\n" for i, text in enumerate(texts)))
    tool("prepare_text.py", "--input", lines, "--tokenizer", "bytes", "--max-length", LENGTH, "--stride", STRIDE, "--output", data)
    model = Model(setup, "gpt2", _gpt2)

    def guide() -> dict[str, float]:
        command = [sys.executable, HERE / "huggingface_perplexity.py", model.folder, text_file, LENGTH, STRIDE]
        out, _ = timed(command, environment(OMP_NUM_THREADS="2", LD_PRELOAD=str(allocator())))
        found = json.loads(out.splitlines()[-1])
        return {"per_s": found["per_s"], "figure": found["loss"]}

    works: dict[str, Work] = {f"Tally, {layout}": (lambda layout=layout: model.tally(data, 2, layout)) for layout in LAYOUTS}
    works |= {name: (lambda engine=engine: model.rival(engine, data, 2, 10**6)) for engine, name in RIVALS.items()}
    found = in_turn(works | {"the loop of Hugging Face's guide": guide}, setup.rounds)
    loss = found[f"Tally, {LAYOUTS[0]}"][0]["figure"]
    for row, figures in zip(_speeds(found), found.values(), strict=True):
        table.rows.append([*row, abs(figures[0]["figure"] / loss - 1)])
    return table


def questions(setup: Setup) -> list[Table]:
    """SQuAD's windows, which have many lengths."""
    if setup.cases.squad is None:
        return []
    table = Table("questions", f"BERT-base over {WINDOWS} windows of SQuAD, batch 16, 2 cores: windows per second",
                  ["", "windows/s", "Tally 1 x 2 / it (least and most)"])  # fmt: skip
    data = setup.cases.squad.data()
    model = Model(setup, "bert", _bert)
    works: dict[str, Work] = {
        f"Tally, {layout}": (lambda layout=layout: model.tally(data, 16, layout, "--limit", WINDOWS)) for layout in LAYOUTS
    }
    rivals = {engine: name for engine, name in RIVALS.items() if engine != "kept"}
    works |= {name: (lambda engine=engine: model.rival(engine, data, 16, WINDOWS)) for engine, name in rivals.items()}
    table.rows += _speeds(in_turn(works, setup.rounds))
    return [table]


def _speeds(found: dict[str, list[dict[str, float]]]) -> list[list[object]]:
    ours = found[f"Tally, {LAYOUTS[0]}"]
    return [[name, median(figures, "per_s"), range_of_ratio(ours, figures, "per_s")] for name, figures in found.items()]


TEXT_BENCHMARKS: dict[str, Callable[[Setup], Table | list[Table]]] = {one.__name__: one for one in (documents, questions)}
