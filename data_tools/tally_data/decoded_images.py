# SPDX-License-Identifier: Apache-2.0
"""What worker processes made of image files: their pixels, and which files are broken or lost values."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from .errors import BrokenImage, DataError

Item = TypeVar("Item")
Result = TypeVar("Result")
_SHOWN = 10


@dataclass(frozen=True)
class Decoded:
    """Of a chunk of images. pixels: uint8 [n, H, W, C], of those that are whole; broken: place in the chunk, and why.

    clipped: names of images with more than 8 bits per channel that lost values.
    """

    pixels: np.ndarray
    broken: list[tuple[int, str]]
    clipped: list[str]


def decode_each(
    items: Sequence[Item], shape: tuple[int, ...], decode: Callable[[Item, list[str]], np.ndarray]
) -> Decoded:
    """decode(item, clipped): the pixels, of this shape; adds the image's name to `clipped` where it lost values."""
    pixels = np.empty((len(items), *shape), np.uint8)
    count, broken, clipped = 0, [], []
    for place, item in enumerate(items):
        try:
            pixels[count] = decode(item, clipped)
            count += 1
        except BrokenImage as error:
            broken.append((place, str(error)))
    return Decoded(pixels[:count], broken, clipped)


class BrokenImages(DataError):
    """Of `total` images these are broken; broken: their places, and why."""

    def __init__(self, broken: list[tuple[int, str]], total: int) -> None:
        self.places = frozenset(place for place, _ in broken)
        self.total = total
        more = f"; … and {len(broken) - _SHOWN} more" if len(broken) > _SHOWN else ""
        self.listing = "; ".join(why for _, why in broken[:_SHOWN]) + more
        count = f"{len(broken)} of {total} images {'are' if len(broken) > 1 else 'is'}"
        them = "them" if len(broken) > 1 else "it"
        super().__init__(f"{count} broken: {self.listing}; replace {them}, or leave {them} out with --skip-broken")


def whole_images(chunks: Iterable[Decoded], total: int) -> Iterator[np.ndarray]:
    """The pixels of the chunks of `total` images; prints a note on clipped ones.

    From the first broken image on nothing is yielded: the others are looked at, to raise BrokenImages of all.
    """
    first, broken, clipped = 0, [], []
    for chunk in chunks:
        broken += [(first + place, why) for place, why in chunk.broken]
        first += len(chunk.pixels) + len(chunk.broken)
        clipped += chunk.clipped
        if not broken:
            yield chunk.pixels
    if broken:
        raise BrokenImages(broken, total)
    if clipped:
        print(
            f"note: {len(clipped)} of {total} images have more than 8 bits per channel, and their values are clipped to "
            f"0..255, as Pillow does it for torchvision and timm; they may be all white: the first is '{clipped[0]}'"
        )


def skipping_broken(write: Callable[[Collection[int]], Result], skip: bool) -> Result:
    """write(places) writes a set without the images of these places: at first with all of them.

    Where some are broken and `skip` says so, it is called once more without these.
    """
    try:
        return write(())
    except BrokenImages as error:
        if not skip:
            raise
        if len(error.places) == error.total:
            raise DataError(f"all {error.total} images are broken: {error.listing}") from error
        print(f"note: {len(error.places)} of {error.total} images are broken and left out: {error.listing}")
        places = error.places
    return write(places)
