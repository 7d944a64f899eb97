"""Runs as arrays: datasets, splits and the normalizer."""
