# SPDX-License-Identifier: Apache-2.0
"""COCO's evaluation of boxes as its own users run it.

    pycocotools_eval.py ANNOTATIONS RESULTS

Prints a line of JSON: the twelve figures.
"""

import contextlib
import io
import json
import sys

from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval


def main() -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        annotations = COCO(sys.argv[1])
        evaluation = COCOeval(annotations, annotations.loadRes(sys.argv[2]), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    print(json.dumps(evaluation.stats.tolist()))


main()
