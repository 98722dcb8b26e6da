# SPDX-License-Identifier: Apache-2.0
"""Datasets that prepare_dataset must take, or refuse, as a user would write them; those of plain_datasets, too."""

import numpy as np
import torch
from PIL import Image
from plain_datasets import NUM_ITEMS, Made, Named, pillow, pixels, rng
from sklearn.datasets import load_digits
from torch.utils.data import ConcatDataset, IterableDataset, TensorDataset
from torchvision.transforms import v2


class Stream(IterableDataset):
    def __iter__(self):
        items = Made(lambda index: {"x": rng(index).random(5, np.float32), "target": index % 3})
        return (items[index] for index in range(NUM_ITEMS))


def arrays():
    return Named(lambda index: (pixels(index), np.int32(index % 3)))


def tensors():
    return Named(lambda index: (torch.from_numpy(pixels(index)).permute(2, 0, 1), torch.tensor(index % 3)))


def pictures():
    """Of many sizes."""
    return Made(lambda index: (Image.fromarray(pixels(index, 40 + index, 60 - index)), index % 3))


def normalised():
    transform = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5] * 3, [0.25] * 3)])
    return Made(lambda index: (transform(pixels(index)), index % 3))


def tokens():
    def item(index):
        ids = torch.from_numpy(rng(index).integers(0, 1000, 9))
        return {"input_ids": ids, "attention_mask": (ids % 7 > 0), "labels": index % 3}

    return Made(item)


def vectors():
    return TensorDataset(torch.from_numpy(rng(0).random((NUM_ITEMS, 5), np.float32)), torch.arange(NUM_ITEMS) / 4)


def outputs():
    return Made(lambda index: (rng(index).random(5, np.float32), [index / 4, 1.5]))


def findings():
    return Made(lambda index: ({"a": rng(index).random(5, np.float32), "b": np.int16(index)}, rng(index).integers(0, 2, 4)))


def masks():
    return Made(lambda index: (pixels(index), Image.fromarray(rng(index).integers(0, 5, (6, 7), np.uint8))))


def depths():
    return Made(lambda index: (pixels(index), rng(index).random((6, 7), np.float32)))


def unlabelled():
    return Made(pixels)


def stream():
    return Stream()


def joined():
    """Of torch's own kinds."""
    return ConcatDataset([pillow(), pillow()])


def digits(transform):
    found = load_digits()
    return Made(lambda index: (transform(found.images[1437 + index]), int(found.target[1437 + index])), 360)


def digit_images():
    return digits(lambda image: image.astype(np.uint8))


def digit_tensors():
    return digits(lambda image: torch.from_numpy(image / 16).float()[None])


def other_shape():
    return Made(lambda index: (pixels(index, 6 + (index == 17)), 0))


def other_length():
    return Made(lambda index: (np.zeros(5 + (index == 17), np.float32), 0))


def other_type():
    return Made(lambda index: (np.zeros(5, np.float32 if index < 17 else np.int64), index % 3))


def other_keys():
    return Made(lambda index: {"a": 1, ("b" if index < 17 else "c"): 2, "label": 0})


def other_kind():
    return Made(lambda index: (pixels(index) if index < 17 else "an image", 0))


def far_label():
    return Named(lambda index: (pixels(index), 4 if index == 17 else 0))


def negative_label():
    return Made(lambda index: (pixels(index), -1 if index == 17 else 0))


def one_label():
    return Made(lambda index: (pixels(index), 0))


def text_label():
    return Made(lambda index: (pixels(index), ["cat", "dog"][index % 2]))


def deep():
    return Made(lambda index: (Image.fromarray(np.full((6, 7), 9 * index, np.uint16)), 0))


def wide_targets():
    return Made(lambda index: (pixels(index), np.float64(index)))


def no_label():
    return Made(lambda index: {"image": pixels(index), "kind": 0})


def triples():
    return Made(lambda index: (pixels(index), 0, 1))


def texts():
    return Made(lambda index: ("a text", 0))


def nothing():
    return Made(lambda index: None, 0)


def random():
    return Made(lambda index: (np.random.default_rng().random(5, np.float32), index % 3))


def once():
    return iter([(1, 2)])


def number():
    return 7


def failing():
    raise RuntimeError("no disk")
