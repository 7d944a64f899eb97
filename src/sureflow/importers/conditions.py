"""The parameters of runs: from a table, from the names of files and folders, or from entries of the files themselves."""

import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from sureflow.errors import SureflowError
from sureflow.importers.naming import COMPONENT, without_unit
from sureflow.validation import parse_json, read_toml, shortened

NUMBER = r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
FILE_COLUMNS = ("file", "case", "run", "folder", "path", "name")
Columns = dict[str, np.ndarray]


def normal(text: Any) -> str:
    """Text as it is compared: file systems differ in how they write umlauts, and tables in their slashes."""
    return unicodedata.normalize("NFC", str(text)).strip().replace("\\", "/").rstrip("/").removeprefix("./")


def from_table(table: Path, files: Sequence[Path]) -> tuple[Columns, dict[str, str]]:
    """Values of every file from its row, which the column `file` names; and the units in the titles of the columns."""
    frame = read_frame(table)
    titles = [str(column).strip() for column in frame.columns]
    frame.columns = titles
    column = next((title for name in FILE_COLUMNS for title in titles if title.lower() == name), None)
    if column is None:
        raise SureflowError(
            f"{table} has no column 'file': give one that names the file or folder of every run; its columns are "
            f"{', '.join(titles)}"
        )
    rows = matching_rows(table, [normal(value) for value in frame[column]], files)
    columns, units = {}, {}
    for title in titles:
        if title == column or title.startswith("Unnamed:"):
            continue
        name, unit = without_unit(title)
        columns[name] = numbers_in(table, title, frame[title].iloc[rows].tolist(), files)
        if unit:
            units[name] = unit
    if not columns:
        raise SureflowError(f"{table} has no column besides {column!r}: add one for every parameter")
    return columns, units


def read_frame(table: Path) -> Any:
    """A table from CSV (commas, semicolons or tabs) or Excel; a row that is longer than the header is refused."""
    import pandas

    try:
        if table.suffix.lower() in (".xlsx", ".xlsm", ".xls", ".ods"):
            return pandas.read_excel(table, dtype=str)
        # Without index_col=False the excess of a row, such as a comma at its end, would shift all columns by one.
        options = {"dtype": str, "sep": separator_of(table), "index_col": False, "skipinitialspace": True}
        try:
            frame = pandas.read_csv(table, encoding="utf-8-sig", **options)
        except UnicodeDecodeError:  # spreadsheets of Windows
            frame = pandas.read_csv(table, encoding="cp1252", **options)
        return frame.dropna(how="all")
    except ImportError as error:
        raise SureflowError(
            f"{table} needs {error.name or 'openpyxl'} to be read: pip install 'sureflow[cfd]' (in a clone, -e '.[cfd]'), "
            "or save it as CSV"
        ) from None
    except (OSError, ValueError, KeyError, pandas.errors.ParserWarning) as error:
        reason = (
            error.strerror if isinstance(error, OSError) else str(error).strip().rpartition("error: ")[2]
        ) or error
        raise SureflowError(f"{table} cannot be read ({reason})") from None
    except Exception as error:  # a file that only claims to be a workbook
        raise SureflowError(
            f"{table} cannot be read ({str(error).partition(chr(10))[0] or type(error).__name__})"
        ) from None


def separator_of(table: Path) -> str:
    """Comma, semicolon or tab: whichever the header has most of."""
    with table.open(encoding="utf-8-sig", errors="replace") as lines:
        header = lines.readline()
    return max(",;\t", key=header.count)


def matching_rows(table: Path, names: Sequence[str], files: Sequence[Path]) -> list[int]:
    """The row of every file, by its path, its name, its name without the ending, or the folder that it lies in."""
    rows, used = [], {}
    for file in files:
        found = rows_of(file, names)
        if not found:
            raise SureflowError(
                f"{table} has no row for {file}: add one with file={file.name!r}, or leave the file out of the import"
            )
        if len(found) > 1:
            numbers = " and ".join(str(row + 1) for row in found[:2])
            raise SureflowError(f"{table} has the rows {numbers} for {file}: keep one of them")
        if found[0] in used:
            raise SureflowError(
                f"{table}: row {found[0] + 1} ({names[found[0]]}) fits {used[found[0]]} and {file}: name the files with "
                "their folders"
            )
        used[found[0]] = file
        rows.append(found[0])
    unused = [row for row in range(len(names)) if row not in used]
    if unused:
        raise SureflowError(
            f"{table} names {names[unused[0]]!r} in row {unused[0] + 1}, and there is no such file among the {len(files)} to "
            "import: remove the row, or import that file too"
        )
    return rows


def rows_of(file: Path, names: Sequence[str]) -> list[int]:
    """The rows that name a file, by the most telling way in which any does."""
    whole = normal(file)
    stem = normal(file.name).partition(".")[0] if file.is_file() else normal(file.name)
    ways = (
        lambda name: name == whole or normal(Path(name).resolve()) == normal(file.resolve()),
        lambda name: whole.endswith("/" + name),
        lambda name: name in (normal(file.stem), stem),
        lambda name: f"/{name}/" in f"/{normal(file.parent)}/",
    )
    for fits in ways:
        found = [row for row, name in enumerate(names) if fits(name)]
        if found:
            return found
    return []


def numbers_in(table: Path, title: str, values: Sequence[Any], files: Sequence[Path]) -> np.ndarray:
    found = [to_number(value) for value in values]
    for file, value, number in zip(files, values, found, strict=True):
        if number is None:
            given = (
                "is missing" if value is None or value != value else f"is {str(value)!r}, which is not a finite number"
            )
            raise SureflowError(f"{table}: {title} of {file.name} {given}")
    return np.array(found, float)


def to_number(value: Any) -> float | None:
    try:
        number = float(str(value).strip())
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def from_pattern(pattern: str, files: Sequence[Path]) -> Columns:
    """Values from paths such as M{mach}_h{altitude_km}, in which each name in braces stands for a number.

    Folders that all files share cannot tell runs apart: they count only where the pattern fits nothing below them.
    """
    names = re.findall(r"\{([^{}]*)\}", pattern)
    if not names or "" in names or len(set(names)) < len(names):
        raise SureflowError(
            f"the pattern {pattern!r} must have every parameter exactly once, in braces, as in M{{mach}}_h{{altitude_km}}"
        )
    regex = re.compile(expression(pattern))
    paths = [normal(file) for file in files]
    shared = shared_folders(paths) if len(paths) > 1 else 0
    if not any(regex.search(path, shared) for path in paths):
        shared = 0
    rows = []
    for path in paths:
        found = {match.groups() for match in regex.finditer(path, shared)}
        if len(found) != 1:
            fits = "does not fit" if not found else f"fits {len(found)} parts of"
            raise SureflowError(
                f"the pattern {pattern!r} {fits} {path}: write more of the names around the numbers, with * for what varies "
                "and does not matter"
            )
        rows.append([float(text) for text in found.pop()])
    return dict(zip(names, np.array(rows).T, strict=True))


def shared_folders(paths: Sequence[str]) -> int:
    """How many characters the folders have that all paths begin with."""
    levels = zip(*(path.split("/")[:-1] for path in paths), strict=False)
    return sum(len(names[0]) + 1 for names in takewhile(lambda names: len(set(names)) == 1, levels))


def expression(pattern: str) -> str:
    """A regular expression: a number for each name in braces, anything but a slash for *, all else as it stands."""
    parts = re.split(r"(\{[^{}]*\}|\*)", normal(pattern))
    begin = r"(?<![0-9.])" if parts[0] == "" and len(parts) > 1 else ""
    return begin + "".join(
        NUMBER if part.startswith("{") else "[^/]*?" if part == "*" else re.escape(part) for part in parts
    )


def from_entries(
    entries: Mapping[str, str], files: Sequence[Path], numbers: Callable[[Path], Mapping[str, float]]
) -> Columns:
    """Values that the runs hold themselves: 'file:key.key[component]' of a dictionary in the case folder or beside the file
    (OpenFOAM, JSON or TOML; {stem} stands for the name of the run), or the name of a number in the file of the run.
    """
    return {name: np.array([entry_of(file, entry, name, numbers) for file in files]) for name, entry in entries.items()}


def entry_of(file: Path, entry: str, name: str, numbers: Callable[[Path], Mapping[str, float]]) -> float:
    place, colon, keys = entry.rpartition(":")
    if not colon:
        known = numbers(file)
        if entry not in known:
            raise SureflowError(f"{file} has no number {entry!r} for {name}: it has {', '.join(known) or 'none'}")
        return known[entry]
    folder = file if file.is_dir() else file.parent
    source = folder / place.replace("{stem}", file.name.partition(".")[0])
    if not source.is_file():
        raise SureflowError(f"{source}, from which {name} is to be read, does not exist")
    found = COMPONENT.match(keys)
    path, component = (found[1], int(found[2])) if found else (keys, None)
    value = looked_up(source, path.split("."), name)
    try:
        values = np.asarray(getattr(value, "value", value), float).ravel()
        number = float(values[0 if component is None else component])
    except (TypeError, ValueError, IndexError):
        raise SureflowError(f"{source}: {keys} is {shortened(value)}, and {name} must be a number") from None
    if (component is None and values.size != 1) or not math.isfinite(number):
        raise SureflowError(f"{source}: {keys} has {values.size} numbers: say which of them {name} is, as in {keys}[0]")
    return number


def looked_up(source: Path, keys: Sequence[str], name: str) -> Any:
    """An entry of a dictionary in a file. Nothing in it is executed."""
    if source.suffix == ".json":
        content: Any = parse_json(source.read_bytes(), str(source))
    elif source.suffix == ".toml":
        content = read_toml(source)
    else:
        content = foam_dictionary(source)
    for depth, key in enumerate(keys):
        try:
            content = content[key]
        except (KeyError, TypeError, IndexError):
            where = ".".join(keys[:depth]) or "it"
            raise SureflowError(f"{source} has no entry {'.'.join(keys)} for {name}: {where} has no {key}") from None
    return content


def foam_dictionary(source: Path) -> Any:
    try:
        from foamlib import FoamFieldFile
    except ImportError:
        raise SureflowError(
            f"{source} needs foamlib to be read, which is not installed: pip install 'sureflow[cfd]' (in a clone, -e '.[cfd]')"
        ) from None
    try:
        return FoamFieldFile(source).as_dict()
    except Exception as error:
        raise SureflowError(f"{source} cannot be read ({str(error).partition(chr(10))[0][:200]})") from None


def joined_columns(parts: Sequence[Mapping[str, np.ndarray]]) -> Columns:
    """Parameters from several places; one that is given twice must not contradict itself."""
    columns: Columns = {}
    for part in parts:
        for name, values in part.items():
            if name in columns and not np.allclose(columns[name], values, rtol=1e-9, atol=0):
                raise SureflowError(
                    f"the parameter {name} has different values in the table and in names or entries: give it once"
                )
            columns[name] = values
    return columns


def require_distinct_files(columns: Columns, files: Sequence[Path]) -> None:
    """Refuse two files at one condition, by name."""
    seen: dict[tuple[float, ...], Path] = {}
    for row, file in zip(np.column_stack(list(columns.values())).tolist(), files, strict=True):
        if tuple(row) in seen:
            at = ", ".join(f"{name}={value:g}" for name, value in zip(columns, row, strict=True))
            raise SureflowError(
                f"{seen[tuple(row)]} and {file} are at the same condition ({at}): leave one of them out"
            )
        seen[tuple(row)] = file
