"""Training: all members and all variables in one compiled program."""
