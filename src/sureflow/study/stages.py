"""A stage leaves files and a record of what they were made from; it is skipped while neither has changed."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sureflow.data.schema import first_difference
from sureflow.files import write_atomically

RECORDS = "stages"


def content_hash(path: Path) -> str | None:
    """SHA-256 of a file, or of the names and contents of all files below a folder; None if there is neither."""
    if path.is_dir():
        files = {str(file.relative_to(path)): content_hash(file) for file in path.rglob("*") if file.is_file()}
        return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class Stage:
    """`make` writes the `outputs` from what `inputs` names: settings and content hashes.

    Outputs are paths in the study's folder of files, of all files that a pattern names, or of folders as a whole.
    `temporary` files let a killed stage go on; they go when the record is there, since before it a kill would lose them with
    nothing in their place.
    """

    name: str
    inputs: Mapping[str, Any]
    outputs: Sequence[str]
    make: Callable[[], object]
    temporary: Sequence[str] = ()

    def to_do(self, folder: Path) -> str | None:
        """Why the stage must run; None if its files are there, whole, and made from the same inputs."""
        try:
            record = json.loads(self._record(folder).read_bytes())
            inputs, outputs = record["inputs"], record["outputs"]
        except FileNotFoundError:
            return "to do"
        except (ValueError, KeyError, TypeError):
            return "its record is damaged"
        changed = first_difference(json.loads(json.dumps(self.inputs)), inputs, "inputs")
        if changed:
            return changed.removeprefix("inputs.")
        for name in self.outputs:
            found = _output_hash(folder, name)
            if found is None:
                return f"{name} is missing"
            if found != outputs.get(name):
                return f"{name} is damaged or was changed"
        return None

    def run(self, folder: Path) -> None:
        """Make the outputs, then the record."""
        self.make()
        outputs = {name: _output_hash(folder, name) for name in self.outputs}
        record = {"inputs": self.inputs, "outputs": outputs}
        path = self._record(folder)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, (json.dumps(record, indent=1) + "\n").encode())
        for name in self.temporary:
            (folder / name).unlink(missing_ok=True)

    def _record(self, folder: Path) -> Path:
        return folder / RECORDS / f"{self.name.replace(' ', '-')}.json"


def _output_hash(folder: Path, name: str) -> str | None:
    """Of a file or folder, or of all files that a pattern names."""
    if "*" not in name:
        return content_hash(folder / name)
    files = {path.name: content_hash(path) for path in sorted(folder.glob(name))}
    return hashlib.sha256(json.dumps(files).encode()).hexdigest() if files else None
