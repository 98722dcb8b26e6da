# SPDX-License-Identifier: Apache-2.0
"""Keeps Inductor's files and words to itself."""

import logging
import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import torch


@contextmanager
def silence_inductor() -> Iterator[None]:
    """Inductor's cache: the user's, if TORCHINDUCTOR_CACHE_DIR names one, else a folder that is gone afterwards."""
    torch._logging.set_logs(all=logging.ERROR)
    with tempfile.TemporaryDirectory(prefix="tally-export-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = os.environ.get("TORCHINDUCTOR_CACHE_DIR") or folder
        with mock.patch.dict(os.environ, TORCHINDUCTOR_CACHE_DIR=folder):
            yield
