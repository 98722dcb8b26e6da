"""What export_model.py is made of: finding a model, loading weights, exporting, the model card."""
