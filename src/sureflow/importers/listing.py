"""Which files and folders are runs."""

import html
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from sureflow.errors import SureflowError
from sureflow.importers.reading import IMPORTERS, ending_of, importer_for, is_openfoam_case
from sureflow.importers.snapshot import SnapshotReader

LISTS = (
    ".pvd",
    ".pvtu",
    ".pvts",
    ".pvtp",
    ".pvti",
    ".pvtr",
    ".vtm",
    ".vtmb",
    ".vtpd",
)  # whose files are not runs themselves
NAMED = re.compile(rb"""\b(?:Source|file)\s*=\s*["']([^"']+)["']""")
MOST_OF_A_LIST = 10_000_000  # bytes
ARCHIVES = (".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".7z")


def list_files(sources: Sequence[str | Path], *, besides: Sequence[Path] = ()) -> list[Path]:
    """The runs of folders, globs and single paths, each once, in the order in which people count."""
    found: dict[Path, None] = {}
    for source in sources:
        found |= dict.fromkeys(runs_in(source))
    others = {path.resolve() for path in besides} | {piece for path in found for piece in pieces_of(path)}
    files = sorted((path for path in found if path.resolve() not in others), key=in_words)
    if not files:
        raise SureflowError(f"{', '.join(map(str, sources))}: there is no file that can be read as a run")
    require_one_kind(files)
    return files


def runs_in(source: str | Path) -> Iterator[Path]:
    path = Path(source)
    if path.exists():
        refuse_archive(path)
        if is_openfoam_case(path) or path.is_file():
            importer_for(path)  # which says what it cannot read
            yield path
            return
        yield from within(path)
        return
    if not any(character in str(source) for character in "*?["):
        raise SureflowError(f"{source} does not exist: give a folder, a file or a pattern such as cases/*.vtu")
    anchor = Path(path.anchor) if path.is_absolute() else Path()
    matched = list(anchor.glob(str(path.relative_to(path.anchor)) if path.is_absolute() else str(path)))
    if not matched:
        raise SureflowError(f"no file matches {source}: check its folder and its ending")
    for one in sorted(matched):
        yield from runs_in(one)


def within(folder: Path) -> Iterator[Path]:
    """The runs in a folder: case folders, and files that an importer of single runs reads."""
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    files = [entry for entry in entries if entry.is_file() and isinstance(reader_of(entry), SnapshotReader)]
    yield from (file for file in files if not is_companion(file, files))
    inner = [entry for entry in entries if entry.is_dir() and entry.suffix != ".zarr" and not leads_back(entry)]
    for entry in inner:
        if is_openfoam_case(entry):
            yield entry
        else:
            yield from within(entry)


def leads_back(folder: Path) -> bool:
    """Whether a link leads to a folder that it lies in."""
    return folder.is_symlink() and folder.parent.resolve().is_relative_to(folder.resolve())


def pieces_of(path: Path) -> Iterator[Path]:
    """The files that a list of files names, such as those of the processors in a .pvtu or of the times in a .pvd."""
    if ending_of(path) in LISTS and path.is_file():
        with path.open("rb") as file:
            for name in NAMED.findall(file.read(MOST_OF_A_LIST)):
                if b"\0" not in name:  # which no file has in its name
                    yield (path.parent / html.unescape(name.decode("utf-8", "replace"))).resolve()


def reader_of(path: Path) -> object:
    """What reads a file, or None."""
    return next((IMPORTERS[ending] for ending in IMPORTERS if ending == ending_of(path)), None)


def is_companion(file: Path, files: Sequence[Path]) -> bool:
    """Whether a file belongs to another one, as a .dat.h5 does to its .cas.h5."""
    for other in files:
        reader = reader_of(other)
        assert isinstance(reader, SnapshotReader)
        stem = other.name.removesuffix(ending_of(other))
        if other != file and any(file.name == stem + ending for ending in reader.companions):
            return True
    return False


def require_one_kind(files: Sequence[Path]) -> None:
    """Refuse a mixture of formats, in which the same run may well be twice."""
    kinds = Counter("case folders" if path.is_dir() else ending_of(path) for path in files)
    if len(kinds) > 1:
        counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        raise SureflowError(
            f"the files are of several kinds ({counts}): select one kind, as in cases/*{next(iter(kinds))}"
        )


def refuse_archive(path: Path) -> None:
    if path.is_file() and path.suffix.lower() in ARCHIVES:
        count = ""
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                count = f" of {len(archive.namelist())} files"
        raise SureflowError(f"{path} is an archive{count}: unpack it into a folder, and import that")


def in_words(path: Path) -> list[tuple[int, float, str]]:
    """Sorts run2 before run10."""
    parts = re.split(r"(\d+)", str(path))
    return [(0, float(part), "") if part.isdigit() else (1, 0.0, part) for part in parts]
