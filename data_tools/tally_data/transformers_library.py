# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's transformers, silent and offline."""

import os
from typing import Any

from .errors import EnvironmentFault


def import_transformers() -> Any:
    """It takes seconds to load, so that tools do so only where they need it."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # a file that is missing here is not looked for elsewhere
    try:
        import transformers
    except ImportError as error:
        raise EnvironmentFault("transformers is not installed; run jobs/setup.sh") from error
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers


def first_line(error: Exception) -> str:
    """What the library says of a fault, with the kind of its error."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"
