"""Publishes what `tally watch` and `tally evaluate` write to TensorBoard, W&B and MLflow."""
