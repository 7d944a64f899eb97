"""The folder of a model as one thing: one process writes to it at a time, and what describes the model changes with it.

`model.json` decides which model a folder holds. What else describes that model (experiment, provenance, events) is staged
in a folder that is named after its arrays, before `model.json` names these: whoever writes to the folder next finishes what a
kill has left half done.
"""

import contextlib
import fcntl
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from sureflow.data.disk import explain_writing
from sureflow.errors import SureflowError
from sureflow.files import write_atomically

LOCK = ".lock"
CHECKPOINT = "checkpoint.safetensors"
STAGED = ".made-"  # then the name of the file of arrays
ARRAYS = ("weights", "calibration")  # what the names of files of arrays begin with
PARTS = (".making", ".part")  # what the names of files end in that a kill has left


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold a folder that is written to; the lock ends with the process, whatever ends that."""
    with explain_writing(folder):
        made = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / LOCK).open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield
            except BlockingIOError:
                raise SureflowError(
                    f"another process is making the model in {folder}: wait for it, stop it, or choose another folder"
                ) from None
            except BaseException:
                if made and [path.name for path in folder.iterdir()] == [LOCK]:
                    shutil.rmtree(folder)  # nothing came of it
                raise


def stage(folder: Path, arrays: str, files: Mapping[str, bytes]) -> None:
    """Keep files that belong to the model of these arrays, until that is the folder's; an empty one removes its name."""
    making = folder / f"{STAGED}{uuid.uuid4().hex}.making"
    making.mkdir()
    for name, content in files.items():
        write_atomically(making / name, content)
    place = folder / f"{STAGED}{arrays}"
    shutil.rmtree(place, ignore_errors=True)
    os.replace(making, place)


def is_unsettled(folder: Path) -> bool:
    """Whether a kill has interrupted a change of the model."""
    return folder.is_dir() and any(folder.glob(f"{STAGED}*"))


def settle(folder: Path, arrays: Iterable[str], in_progress: Iterable[str] = ()) -> None:
    """Finish a change of the model to the one with these files of arrays: what describes it, and nothing of another.

    What a training kept while it was in progress goes with its end. What was staged goes last.
    """
    kept = {*arrays}
    staged = [folder / f"{STAGED}{name}" for name in kept]
    files = [file for place in staged if place.is_dir() for file in sorted(place.iterdir())]
    for file in files:
        if file.stat().st_size:
            os.replace(file, folder / file.name)
        else:
            (folder / file.name).unlink(missing_ok=True)
    for name in in_progress if files else ():
        (folder / name).unlink(missing_ok=True)
    for path in folder.iterdir():
        of_another = path.suffix == ".safetensors" and path.name.startswith(ARRAYS) and path.name not in kept
        if of_another or (path.name[0] == "." and path.name.endswith(PARTS) and path.is_file()):
            path.unlink(missing_ok=True)
    for place in folder.glob(f"{STAGED}*"):
        shutil.rmtree(place)
