"""Turns what users type, and the tables they give, into values; or says in one sentence what is wrong."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sureflow.errors import Exists, SureflowError

if TYPE_CHECKING:
    import numpy as np


PICTURES = (".png", ".pdf", ".svg")


def require_picture(name: str, path: Path | None, *, overwrite: bool) -> None:
    """Refuse, before anything is computed, a picture that could not be written."""
    if path is not None and path.suffix.lower() not in PICTURES:
        raise SureflowError(f"{name}={str(path)!r} is not a picture: end it in {', '.join(PICTURES)}")
    if path is not None and path.exists() and not overwrite:
        raise Exists(f"{path} exists: choose another name, or allow it to be replaced")


def parse_values(texts: Sequence[str]) -> dict[str, float]:
    """'mach=25' and others as values by name."""
    values: dict[str, float] = {}
    for text in texts:
        name, equals, number = (part.strip() for part in text.partition("="))
        if not (equals and name):
            raise SureflowError(f"{text!r} must read name=value, as in mach=25")
        if name in values:
            raise SureflowError(f"{name} is given twice: give it once")
        values[name] = parse_number(name, number)
    return values


def parse_number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SureflowError(f"{name}={text!r} is not a finite number")
    return value


def parse_cells(text: str) -> tuple[int, int]:
    """'64x64' as (64, 64)."""
    along, x, normal = text.lower().partition("x")
    if not (x and along.strip().isdecimal() and normal.strip().isdecimal()):
        raise SureflowError(f"cells={text!r} is not a size: write cells along the body x normal to it, such as 64x64")
    return int(along), int(normal)


def parse_shard(text: str) -> tuple[int, int]:
    """'2/8' as (2, 8)."""
    index, slash, count = text.partition("/")
    if not (slash and index.isdecimal() and count.isdecimal()):
        raise SureflowError(f"shard={text!r} is not i/N: write the part and the number of parts, such as 2/8")
    return int(index), int(count)


def parse_names(option: str, text: str) -> list[str]:
    """'a,b' as names, each once."""
    names = [name.strip() for name in text.split(",")]
    if len(set(names)) < len(names):
        raise SureflowError(f"{option} {text!r} names one of them twice: name each once")
    return names


def parse_counts(option: str, text: str) -> list[int]:
    """'4,9,16' as positive numbers."""
    try:
        counts = [int(size) for size in text.split(",")]
    except ValueError:
        counts = [0]
    if min(counts) < 1:
        raise SureflowError(f"{option} {text!r} must be positive whole numbers separated by commas, such as 4,9,16")
    return counts


def parse_share(option: str, text: str) -> float | int:
    """'0.2' as a share, '20' as a number."""
    value = parse_number(option, text)
    return int(text) if text.strip().isdecimal() else value


def read_table(path: Path, names: Sequence[str]) -> dict[str, "np.ndarray"]:
    """Columns of finite numbers from a CSV file with a header; all named columns must be there."""
    import numpy as np
    import pandas

    try:
        # Of every row, what is in excess of the header would otherwise become an index, or get lost.
        table = pandas.read_csv(path, header=None, dtype=str, skipinitialspace=True, encoding="utf-8-sig")
    except pandas.errors.EmptyDataError:
        table = pandas.DataFrame()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error).strip().rpartition("error: ")[2]
        raise SureflowError(f"{path} cannot be read ({reason})") from None
    header = [str(name).strip() for name in table.iloc[0]] if len(table) else []
    missing = next((name for name in names if name not in header), None)
    if missing is not None:
        raise SureflowError(f"{path} has no column {missing!r}; needed: {', '.join(names)}")
    if len(table) < 2:
        raise SureflowError(f"{path} has no rows below its header: give at least one")
    texts = table.iloc[1:].set_axis(header, axis=1)[list(names)]
    numbers = texts.apply(pandas.to_numeric, errors="coerce").to_numpy(float)
    wrong = np.argwhere(~np.isfinite(numbers))
    if len(wrong):
        row, column = wrong[0]
        text = texts.iloc[row, column]
        given = "is missing" if pandas.isna(text) else f"={str(text)!r} is not a finite number"
        raise SureflowError(f"{path}: {names[column]}{' ' if pandas.isna(text) else ''}{given} in row {row + 1}")
    return dict(zip(names, numbers.T, strict=True))
