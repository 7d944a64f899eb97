"""How good a prediction is and how far its error bars can be trusted: pure functions over arrays."""
