"""Pictures and files that people and other programs read."""
