"""Which run to compute next."""
