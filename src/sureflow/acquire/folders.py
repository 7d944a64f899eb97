"""Folders that a command of this package goes on with, and those that it leaves alone."""

from pathlib import Path

from sureflow.errors import SureflowError


def require_own_folder(folder: Path, sign: str, command: str) -> None:
    """Refuse a folder that holds other things than what a command leaves, whose first file is `sign`."""
    if folder.is_dir() and not (folder / sign).exists() and any(child.name != ".lock" for child in folder.iterdir()):
        raise SureflowError(f"{folder} holds other files than those of {command}: choose another folder")
