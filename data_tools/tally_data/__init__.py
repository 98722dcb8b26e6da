# SPDX-License-Identifier: Apache-2.0
"""Write Tally data set files (SCHEMA.md). `DataSetWriter` and `ImageEncoding` are what users need."""

from .encoding import ImageEncoding
from .errors import DataError, EnvironmentFault, ModelError, OutputError, ToolError, UsageError
from .writer import Column, DataSetWriter

__all__ = [
    "Column",
    "DataError",
    "DataSetWriter",
    "EnvironmentFault",
    "ImageEncoding",
    "ModelError",
    "OutputError",
    "ToolError",
    "UsageError",
]
