# SPDX-License-Identifier: Apache-2.0
"""What export_model.py is made of: finding a model, loading weights, exporting, the model card."""
