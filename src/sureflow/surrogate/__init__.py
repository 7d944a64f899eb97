"""Surrogates: how they are specified, made, calibrated, asked and kept."""
