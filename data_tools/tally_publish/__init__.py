# SPDX-License-Identifier: Apache-2.0
"""Publishes what `tally watch` and `tally evaluate` write to TensorBoard, W&B and MLflow."""
