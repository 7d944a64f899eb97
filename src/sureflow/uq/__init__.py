"""Error bars: how they are calibrated with held-out runs, and where a condition lies relative to the training runs."""
