"""Hypersonic flow fields from few CFD runs, at once, with error bars that can be trusted."""
