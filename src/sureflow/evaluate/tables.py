"""Rows of results as text: CSV with all digits, Markdown and LaTeX with three significant ones."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from sureflow.evaluate.summary import MEAN

Row = dict[str, Any]

# The columns of the paper's table, with its headings.
PAPER_DOMAINS = {
    "in_domain": "in-domain",
    "high_mach": "high Mach",
    "high_altitude": "high altitude",
    "low_mach": "low Mach",
    "low_altitude": "low altitude",
}
MISSING = "-"
LATEX = {
    **{character: "\\" + character for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
}


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


def to_latex(rows: Sequence[Row], columns: Sequence[str] | None = None) -> str:
    """A tabular with the rules of booktabs."""
    columns = columns or columns_of(rows)
    alignment = "".join("r" if _is_numeric(rows, column) else "l" for column in columns)
    cells = [[_latex(format_value(row.get(column))) for column in columns] for row in rows]
    header = _latex_line([_latex(column) for column in columns])
    body = "".join(_latex_line(line) for line in cells)
    begin, end = f"\\begin{{tabular}}{{{alignment}}}\n", "\\end{tabular}\n"
    return f"{begin}\\toprule\n{header}\\midrule\n{body}\\bottomrule\n{end}"


def appendix_table(rows: Sequence[Row], region: str = "all") -> list[Row]:
    """The table of the paper's appendix, a row a label: MAE ± spread / miscalibration area ± spread by domain.

    Models without error bars have no second half, domains without test runs a dash.
    """
    chosen = [row for row in rows if row["region"] == region and row["variable"] == MEAN]
    by_domain = {(row["label"], row["domain"]): row for row in chosen}
    return [
        {"kind": label} | {head: _appendix_cell(by_domain.get((label, name))) for name, head in PAPER_DOMAINS.items()}
        for label in dict.fromkeys(row["label"] for row in chosen)
    ]


def _appendix_cell(row: Row | None) -> str:
    if row is None or row["mae"] is None:
        return MISSING
    error = f"{format_value(row['mae'])} ± {format_value(row['mae_spread'], 2)}"
    if row["miscalibration"] is None:
        return error
    return f"{error} / {format_value(row['miscalibration'])} ± {format_value(row['miscalibration_spread'], 2)}"


def _is_numeric(rows: Sequence[Row], column: str) -> bool:
    values = [row[column] for row in rows if row.get(column) is not None]
    return bool(values) and all(isinstance(value, int | float) for value in values)


def _latex(text: str) -> str:
    return "".join(LATEX.get(character, character) for character in text)


def _latex_line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + " \\\\\n"
