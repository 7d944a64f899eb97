"""Runs from files: one importer for every ending. A store of runs is one of them."""

from sureflow.importers.reading import IMPORTERS, Importer, importer_for, open_file
from sureflow.importers.snapshot import Block, Snapshot, SnapshotReader, Wanted

__all__ = ["IMPORTERS", "Block", "Importer", "Snapshot", "SnapshotReader", "Wanted", "importer_for", "open_file"]
