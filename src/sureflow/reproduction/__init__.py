"""Studies that repeat published ones: what was claimed, and what our runs say of it."""
