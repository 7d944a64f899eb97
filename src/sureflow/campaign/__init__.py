"""Many conditions, computed unattended into one store, resumable at any moment."""
