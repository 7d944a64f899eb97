"""Uncertainty: what a prediction is, how members become one, and where a condition lies in the training domain."""
