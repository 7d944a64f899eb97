"""Predictions and solutions as files for other programs."""
