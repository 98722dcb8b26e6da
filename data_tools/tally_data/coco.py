# SPDX-License-Identifier: Apache-2.0
"""Reads object annotations in COCO's form (instances_*.json): images, categories and boxes, each checked."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from .errors import DataError
from .json_form import JsonForm, parse_json

Box = tuple[float, float, float, float]  # x, y, width, height
_ROUNDING = 1.0  # pixels by which COCO's own boxes may reach beyond their image


class Category(NamedTuple):
    identity: int
    name: str


class CocoImage(NamedTuple):
    """place: in the file. Where no pixels are wanted, the name may be empty, width and height 0: unknown."""

    identity: int
    place: str
    name: str
    width: int
    height: int


class CocoObject(NamedTuple):
    """label: place of its category in Coco.categories."""

    box: Box
    label: int
    crowd: bool
    area: float


@dataclass(frozen=True)
class Coco:
    """images and categories: in ascending order of their ids; objects: of each image, in the file's order."""

    images: list[CocoImage]
    categories: list[Category]
    objects: list[list[CocoObject]]

    def first(self, limit: int | None) -> "Coco":
        """Its first images."""
        return Coco(self.images[:limit], self.categories, self.objects[:limit])

    def without(self, places: Collection[int]) -> "Coco":
        """But the images at these places, and their objects."""
        kept = [place for place in range(len(self.images)) if place not in places]
        return Coco([self.images[place] for place in kept], self.categories, [self.objects[place] for place in kept])

    def beyond_images(self) -> list[int]:
        """Of each box that reaches more than a pixel beyond its image the image's id."""
        return [
            image.identity
            for image, objects in zip(self.images, self.objects, strict=True)
            for found in objects
            if _reaches_beyond(found.box, image)
        ]


def _reaches_beyond(box: Box, image: CocoImage) -> bool:
    x, y, width, height = box
    if min(image.width, image.height) < 1:
        return False
    return min(x, y) < -_ROUNDING or x + width > image.width + _ROUNDING or y + height > image.height + _ROUNDING


def _is_size(found: object) -> bool:
    return isinstance(found, int) and not isinstance(found, bool) and 0 < found < 2**31


class _Reader(JsonForm):
    def __init__(self, path: Path, with_pixels: bool) -> None:
        super().__init__(path, "COCO's form")
        self._with_pixels = with_pixels

    def read(self) -> Coco:
        content = parse_json(self._path)
        images = self._by_identity(content, "images", self._image)
        categories = self._by_identity(content, "categories", self._category)
        for what, found in (("image", images), ("category", categories)):
            if not found:
                raise DataError(f"'{self._path}' holds no {what}")
        label_of = {identity: label for label, identity in enumerate(sorted(categories))}
        objects: dict[int, list[CocoObject]] = {identity: [] for identity in sorted(images)}
        for image, found in self._by_identity(
            content, "annotations", lambda value, place, _: self._annotation(value, place, objects, label_of)
        ).values():
            objects[image].append(found)
        return Coco(
            [images[identity] for identity in objects], [categories[identity] for identity in label_of],
            list(objects.values()),
        )  # fmt: skip

    def _by_identity(self, content: Any, key: str, make: Callable[[Any, str, int], Any]) -> dict[int, Any]:
        """What `make` makes of each item and its place and id, in the file's order."""
        found: dict[int, Any] = {}
        for place, value in self.items(self.field(content, "", key, list), key):
            identity = self.whole(value, place, "id")
            if identity in found:
                raise self.wrong(place, f"has the id {identity} that {key}[{list(found).index(identity)}] has already")
            found[identity] = make(value, place, identity)
        return found

    def _image(self, value: Any, place: str, identity: int) -> CocoImage:
        if not self._with_pixels:
            name, *sizes = (value.get(key) for key in ("file_name", "width", "height"))
            name = name if isinstance(name, str) else ""
            return CocoImage(identity, place, name, *(size if _is_size(size) else 0 for size in sizes))
        width, height = (self.whole(value, place, key) for key in ("width", "height"))
        if width < 1 or height < 1:
            raise self.wrong(place, f"is {width} pixels wide and {height} high")
        return CocoImage(identity, place, self.text(value, place, "file_name"), width, height)

    def _category(self, value: Any, place: str, identity: int) -> Category:
        name = self.text(value, place, "name")
        if not name or "\0" in name:
            raise self.wrong(place, f"has the name {name!r}")
        return Category(identity, name)

    def _annotation(
        self, value: Any, place: str, images: dict[int, list[CocoObject]], label_of: dict[int, int]
    ) -> tuple[int, CocoObject]:
        image, category = self.whole(value, place, "image_id"), self.whole(value, place, "category_id")
        for what, identity, known in (("image", image, images), ("category", category, label_of)):
            if identity not in known:
                raise self.wrong(place, f"is of {what} {identity}, which the file does not hold")
        box = self._box(self.field(value, place, "bbox", list), place)
        area = value.get("area")
        area = box[2] * box[3] if area is None else self.number(area, place, "an 'area'")
        if area < 0:
            raise self.wrong(place, f"has the area {area:g}")
        return image, CocoObject(box, label_of[category], self._crowd(value, place), area)

    def _box(self, values: list[Any], place: str) -> Box:
        if len(values) != 4:
            raise self.wrong(place, f"has a 'bbox' of {len(values)} numbers, expected x, y, width, height")
        x, y, width, height = (self.number(number, place, "a 'bbox' with a value") for number in values)
        if width < 0 or height < 0:
            raise self.wrong(place, f"has a 'bbox' {width:g} wide and {height:g} high")
        return x, y, width, height

    def _crowd(self, value: dict[str, Any], place: str) -> bool:
        """A field `ignore` is not looked at: COCO's own evaluation overwrites it with `iscrowd`."""
        crowd = value.get("iscrowd", 0)
        if crowd not in (0, 1):
            raise self.wrong(place, f"has iscrowd = {crowd!r}, expected 0 or 1")
        return bool(crowd)


def read_coco(path: Path, with_pixels: bool) -> Coco:
    """Raises DataError that names the place in the file: annotations[3]."""
    return _Reader(path, with_pixels).read()
