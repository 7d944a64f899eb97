"""Runs from files: one importer for every ending. A store of runs is one of them."""

from sureflow.importers.reading import IMPORTERS, Importer, importer_for, read_runs

__all__ = ["IMPORTERS", "Importer", "importer_for", "read_runs"]
