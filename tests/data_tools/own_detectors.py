# SPDX-License-Identifier: Apache-2.0
"""Networks of several outputs, and dense ones, as a user would write them."""

import torch
from torch import nn

K = 5

class Detector(nn.Module):
    """Boxes, scores and labels of K places, and how many of them count."""
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 8)
        self.fc = nn.Linear(6, K * 6)
    def found(self, image):
        values = self.fc(self.conv(image).amax((2, 3))).unflatten(1, (K, 6))
        labels = (values[..., 5] > 0).long()
        scores = values[..., 4].sigmoid()
        return values[..., :4] * 8, scores, labels, (scores > 0.5).sum(1, dtype=torch.int32)
    def forward(self, image):
        return self.found(image)

class WithCard(Detector):
    def __init__(self):
        super().__init__()
        self.tally_card = {
            "inputs": [{"name": "image", "shape": [1, 8, 8]}],
            "outputs": [{"name": "boxes"}, {"name": "scores", "kind": "probabilities"}, {"name": "labels"}],
        }

class InDict(Detector):
    def forward(self, image):
        boxes, scores, labels, count = self.found(image)
        return {"count": count, "labels": labels, "boxes": boxes, "scores": scores}

class OfTheExample(Detector):
    """A trace keeps the labels of the example, which no check of floating-point numbers sees."""
    def forward(self, image):
        boxes, scores, labels, count = self.found(image)
        return boxes, scores, labels + len(image) * torch.tensor(int(len(image) == 1)), count

class Growing(Detector):
    """As many places as the batch has images."""
    def forward(self, image):
        boxes, scores, labels, _ = self.found(image)
        rows = image.size(0)
        return boxes[:, :rows], scores[:, :rows], labels[:, :rows]

class ListOfDicts(Detector):
    def forward(self, image):
        return [{"boxes": boxes} for boxes in self.found(image)[0]]

class Dense(nn.Module):
    def __init__(self, channels=3, last=None):
        super().__init__()
        self.conv = nn.Conv2d(3, channels, 3, padding=1)
        self.last = last or nn.Identity()
    def forward(self, image):
        return self.last(self.conv(image))

class Part(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.name = name
    def forward(self, scores):
        labels = scores.argmax(1)
        found = {"map": scores[:, 0], "labels": labels, "label": labels[:, 0, 0], "double": scores.double()}
        return found[self.name]

class Simple(nn.Module):
    def forward(self, image):
        return {"twice": image * 2, "positive": (image > 0).long(), "half": image / 2}

def simple(): return Simple()
def detector(): return Detector()
def with_card(): return WithCard()
def in_dict(): return InDict()
def of_the_example(): return OfTheExample()
def growing(): return Growing()
def list_of_dicts(): return ListOfDicts()
def dense(num_classes=4): return Dense(num_classes)
def dense_probabilities(): return Dense(4, nn.Softmax(1))
def depth(): return Dense(1)
def map_of_depth(): return Dense(1, Part("map"))
def mask(): return Dense(4, Part("labels"))
def class_of_image(): return Dense(4, Part("label"))
def double(): return Dense(4, Part("double"))
