"""Rows of results as text: CSV with all digits, Markdown and columns with three significant ones."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from sureflow.evaluate.results import Row

MISSING = "-"


def columns_of(rows: Sequence[Row]) -> list[str]:
    """The keys of all rows, in the order of their first appearance."""
    return list(dict.fromkeys(key for row in rows for key in row))


def format_value(value: Any, digits: int = 3) -> str:
    """Numbers with so many significant digits, trailing zeros kept; text and counts as they are; nothing as a dash."""
    if value is None:
        return MISSING
    if not isinstance(value, float):
        return str(value)
    return f"{value:#.{digits}g}".removesuffix(".")


def to_csv(rows: Sequence[Row], columns: Sequence[str] | None = None) -> str:
    """Comma-separated values with a header; what is missing is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns or columns_of(rows), restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def to_markdown(rows: Sequence[Row], columns: Sequence[str] | None = None) -> str:
    """A pipe table; columns of numbers are aligned to the right."""
    columns = columns or columns_of(rows)
    rules = ["---:" if _is_numeric(rows, column) else "---" for column in columns]
    cells = [[format_value(row.get(column)).replace("|", r"\|") for column in columns] for row in rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in (columns, rules, *cells))


def to_text(rows: Sequence[Row], columns: Sequence[str] | None = None) -> str:
    """Columns of plain text; those of numbers are aligned to the right."""
    columns = columns or columns_of(rows)
    lines = [list(columns), *([format_value(row.get(column)) for column in columns] for row in rows)]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    aligned = [str.rjust if _is_numeric(rows, column) else str.ljust for column in columns]
    padded = ([pad(cell, width) for pad, cell, width in zip(aligned, line, widths, strict=True)] for line in lines)
    return "".join("  ".join(line).rstrip() + "\n" for line in padded)


def _is_numeric(rows: Sequence[Row], column: str) -> bool:
    values = [row[column] for row in rows if row.get(column) is not None]
    return bool(values) and all(isinstance(value, int | float) for value in values)
