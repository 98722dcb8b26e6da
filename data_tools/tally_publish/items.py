# SPDX-License-Identifier: Apache-2.0
"""What is published: each item knows which function of a target takes it."""

from dataclasses import dataclass
from typing import Protocol

from PIL import Image

# What rows of figures are drawn over.
STEPS, SAMPLES = "checkpoint_step", "running/samples"


@dataclass(frozen=True)
class Row:
    """Figures at one place of their axis; `time` is in seconds since 1970, UTC."""

    place: int
    time: float
    values: dict[str, float]


class Target(Protocol):
    """A dashboard's run. What its library raises goes through."""

    def scalars(self, axis: str, rows: list[Row]) -> None: ...
    def picture(self, name: str, step: int, time: float, image: Image.Image) -> None: ...
    def text(self, name: str, step: int, time: float, text: str) -> None: ...
    def settings(self, settings: dict[str, str]) -> None: ...


@dataclass(frozen=True)
class Scalars:
    axis: str
    rows: list[Row]

    def send(self, target: Target) -> None:
        target.scalars(self.axis, self.rows)


@dataclass(frozen=True)
class Picture:
    name: str
    step: int
    time: float
    image: Image.Image

    def send(self, target: Target) -> None:
        target.picture(self.name, self.step, self.time, self.image)


@dataclass(frozen=True)
class Text:
    name: str
    step: int
    time: float
    text: str

    def send(self, target: Target) -> None:
        target.text(self.name, self.step, self.time, self.text)


@dataclass(frozen=True)
class Settings:
    settings: dict[str, str]

    def send(self, target: Target) -> None:
        target.settings(self.settings)


Item = Scalars | Picture | Text | Settings
