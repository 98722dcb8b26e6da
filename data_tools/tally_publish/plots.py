# SPDX-License-Identifier: Apache-2.0
"""The confusion matrix and the reliability diagram of a metrics.h5, drawn with Pillow."""

from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from tally_data.errors import reading

from .items import Picture

SIDE = 480  # pixels of a diagram without its margins
MARGIN, LEGEND = 70, 40
MAX_NAMED = 20  # classes; of more there are neither numbers nor names
INK, PAPER, FAINT, BLUE = (30, 30, 30), (255, 255, 255), (200, 200, 200), (31, 119, 180)


def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _shortened(name: str) -> str:
    return name if len(name) <= 10 else name[:9] + "…"


def _darkest(shares: np.ndarray, block: int) -> np.ndarray:
    """The largest of each block of cells: where many share a pixel, none shall vanish."""
    padded = np.pad(shares, (0, -len(shares) % block))
    side = len(padded) // block
    return padded.reshape(side, block, side, block).max(axis=(1, 3))


def draw_confusion(counts: np.ndarray, names: list[str]) -> Image.Image:
    """counts: int [C, C], row: true class. Cells are as dark as their share of the row."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)  # [C, C]
    shown = _darkest(shares, -(-len(shares) // SIDE))
    cell = SIDE // len(shown)
    colours = np.array(PAPER) + shown[..., None] * (np.array(BLUE) - np.array(PAPER))  # [., ., 3]
    cells = Image.fromarray(colours.round().astype(np.uint8))
    cells = cells.resize((cell * len(shown),) * 2, Image.Resampling.NEAREST)
    page = Image.new("RGB", (MARGIN + cells.width + 10, MARGIN + cells.height + 10), PAPER)
    page.paste(cells, (MARGIN, MARGIN))
    draw = ImageDraw.Draw(page)
    draw.rectangle((MARGIN - 1, MARGIN - 1, MARGIN + cells.width, MARGIN + cells.height), outline=FAINT)
    draw.text((MARGIN + cells.width / 2, 4), "predicted", INK, _font(14), anchor="ma")
    draw.text((4, 4), "true", INK, _font(14))
    if len(counts) <= MAX_NAMED:
        _name_cells(draw, counts, shares, names, cell)
    return page


def _name_cells(
    draw: ImageDraw.ImageDraw, counts: np.ndarray, shares: np.ndarray, names: list[str], cell: int
) -> None:
    small = _font(max(8, min(14, cell // 4)))
    middle = [MARGIN + (index + 0.5) * cell for index in range(len(counts))]
    for row, y in enumerate(middle):
        draw.text((MARGIN - 6, y), _shortened(names[row]), INK, _font(11), anchor="rm")
        draw.text((y, MARGIN - 6), _shortened(names[row])[: max(1, cell // 6)], INK, _font(11), anchor="ms")
        for column, x in enumerate(middle):
            if counts[row, column]:
                colour = PAPER if shares[row, column] > 0.5 else INK
                draw.text((x, y), str(counts[row, column]), colour, small, anchor="mm")


def draw_reliability(bins: dict[str, np.ndarray]) -> Image.Image:
    """Bars: the share of right ones by confidence; dots: the mean confidence of the bin, on the diagonal if right.

    Below it, how many samples each bin has.
    """
    below = SIDE // 5
    page = Image.new("RGB", (MARGIN + SIDE + 20, 20 + SIDE + 30 + below + LEGEND), PAPER)
    draw = ImageDraw.Draw(page)
    left, bottom, floor = MARGIN, 20 + SIDE, 20 + SIDE + 30 + below
    most = max(1, int(bins["count"].max()))
    for low, high, count, correct in zip(*(bins[key] for key in ("low", "high", "count", "correct")), strict=True):
        if count:
            x0 = left + low * SIDE + 1
            x1 = max(x0, left + high * SIDE - 1)
            draw.rectangle((x0, bottom - correct / count * SIDE, x1, bottom), fill=BLUE)
            draw.rectangle((x0, floor - count / most * below, x1, floor), fill=FAINT)
    draw.line((left, bottom, left + SIDE, bottom - SIDE), INK, 2)
    for confidence, count, correct in zip(bins["confidence"], bins["count"], bins["correct"], strict=True):
        if count:
            x, y = left + confidence * SIDE, bottom - correct / count * SIDE
            draw.ellipse((x - 4, y - 4, x + 4, y + 4), fill=PAPER, outline=INK)
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        draw.text((left + tick * SIDE, bottom + 4), f"{tick:g}", INK, _font(11), anchor="ma")
        draw.text((left - 6, bottom - tick * SIDE), f"{tick:g}", INK, _font(11), anchor="rm")
    draw.rectangle((left, bottom - SIDE, left + SIDE, bottom), outline=FAINT)
    draw.text((left - 6, floor - below), f"{most}", INK, _font(11), anchor="rm")
    draw.text((left + SIDE / 2, floor + 8), "confidence; above: share that is right", INK, _font(14), anchor="ma")
    return page


def draw_plots(path: Path, step: int, time: float) -> Iterator[Picture]:
    """None of a file that has neither, and of no file."""
    if not path.is_file():
        return
    with reading(path), h5py.File(path) as file:
        counts = file["confusion"][...] if "confusion" in file else np.zeros((0, 0), np.int64)
        names = [str(index) for index in range(len(counts))]
        if "class_names" in file:
            names = list(file["class_names"].asstr()[...])
        bins = {key: values[...] for key, values in file.get("reliability", {}).items()}
    if counts.ndim == 2 and counts.size:  # of several labels it is a matrix for each
        yield Picture("confusion", step, time, draw_confusion(counts, names))
    if bins and len(bins["count"]):
        yield Picture("reliability", step, time, draw_reliability(bins))
