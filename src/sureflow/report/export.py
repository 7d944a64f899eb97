"""Tables as CSV, Markdown and LaTeX, and as HTML for the page."""

import html
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sureflow.evaluate import tables
from sureflow.files import write_atomically


class Measured(NamedTuple):
    """A number with its spread, if it has one, and whether it is the best of its group.

    `companion` is a second number of the same thing, such as the miscalibration that goes with an error.
    """

    value: float | None
    spread: float | None = None
    best: bool = False
    unit: str = ""  # "%" shows a share as a percentage
    companion: float | None = None
    decimals: int | None = None  # of numbers that are printed with a fixed number of them


Cell = str | int | Measured | None


@dataclass(frozen=True)
class Table:
    """Rows of cells under a header; `name` is the stem of its files."""

    name: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    companion: str = "companion"  # what the companions of its numbers are


def number(value: float | None, digits: int = 3) -> str:
    """Three significant digits, without exponents where people would not write them."""
    if value is None:
        return "n/a"
    if value and (abs(value) >= 1e5 or abs(value) < 1e-4):
        mantissa, _, exponent = f"{value:.1e}".partition("e")
        return f"{mantissa}e{int(exponent)}"
    text = f"{value:#.{digits}g}"
    return f"{value:.0f}" if "e" in text else text.rstrip(".")


def share(value: float | None) -> str:
    """A share as a percentage."""
    return "n/a" if value is None else f"{100 * value:.1f} %"


def text(cell: Cell) -> str:
    """A cell as people read it: 0.0378 ± 0.0105, or 0.0378 / 0.09."""
    if not isinstance(cell, Measured):
        return "n/a" if cell is None else str(cell)
    if cell.unit == "%":
        return share(cell.value)
    words = _digits(cell.value, cell.decimals)
    if cell.spread is not None:
        words += f" ± {_digits(cell.spread, cell.decimals)}"
    if cell.companion is not None:
        words += f" / {number(cell.companion, 2)}"
    return words


def _digits(value: float | None, decimals: int | None) -> str:
    return number(value) if value is None or decimals is None else f"{value:.{decimals}f}"


def to_csv(table: Table) -> str:
    """Numbers in full; a column with spreads or companions is followed by a column of them."""
    further = [[name for name in ("spread", "companion") if _any_has(column, name)] for column in _columns(table)]
    rows = []
    for row in table.rows:
        fields: dict[str, object] = {}
        for title, cell, names in zip(table.header, row, further, strict=True):
            fields[title] = cell.value if isinstance(cell, Measured) else cell
            for name in names:
                suffix = table.companion if name == "companion" else name
                fields[f"{title} {suffix}"] = getattr(cell, name, None)
        rows.append(fields)
    return tables.to_csv(rows)


def _any_has(column: Iterable[Cell], name: str) -> bool:
    return any(getattr(cell, name, None) is not None for cell in column)


def _columns(table: Table) -> Iterable[tuple[Cell, ...]]:
    return zip(*table.rows, strict=True)


def to_markdown(table: Table) -> str:
    rows = [dict(zip(table.header, (_emphasized(cell, "**{}**") for cell in row), strict=True)) for row in table.rows]
    return f"{tables.to_markdown(rows, table.header)}\n{table.caption}\n"


def to_latex(table: Table) -> str:
    """A booktabs table; a long one, with the package longtable, goes over several pages."""

    def line(cells: Iterable[str]) -> str:
        return "  " + " & ".join(cells) + r" \\"

    rows = [line(_emphasized(cell, r"\textbf{{{}}}", latex) for cell in row) for row in table.rows]
    caption, columns = rf"  \caption{{{latex(table.caption)}}}", _latex_columns(table)
    head = [r"  \toprule", line(latex(title) for title in table.header), r"  \midrule"]
    if len(rows) > LONG_TABLE:
        opening = [rf"\begin{{longtable}}{{{columns}}}", caption + r" \\", *head, r"  \endhead"]
        closing = [r"  \bottomrule", r"\end{longtable}"]
    else:
        opening = [r"\begin{table}[ht]", r"  \centering", caption, rf"  \begin{{tabular}}{{{columns}}}", *head]
        closing = [r"  \bottomrule", r"  \end{tabular}", r"\end{table}"]
    return "\n".join([*opening, *rows, *closing, ""])


def _latex_columns(table: Table) -> str:
    """Columns of sentences share most of the line; the others are as wide as they are."""
    wide = [max(len(text(cell)) for cell in column) > LONG_WORDS for column in _columns(table)]
    return "".join(rf"p{{{0.8 / sum(wide):.2f}\linewidth}}" if sentences else "l" for sentences in wide)


LONG_TABLE, LONG_WORDS = 40, 60  # rows of a page, characters of a line

LATEX = str.maketrans(
    {character: "\\" + character for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "|": r"$|$"}
    | {"±": r"$\pm$", "×": r"$\times$", "<": r"$<$", ">": r"$>$", "≤": r"$\leq$", "≥": r"$\geq$"}
    | {"λ": r"$\lambda$", "ρ": r"$\rho$", "‖": r"$\Vert$", "₂": r"$_2$", "−": r"$-$"}
    | {digit: f"$^{place}$" for place, digit in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
    | {"⁻": "$^-$"}
)


def latex(words: str) -> str:
    """Text with everything that LaTeX would take for a command written out."""
    return words.translate(LATEX)


def to_html(table: Table) -> str:
    """The table for the page; spreads and companions go on lines of their own, so that it stays narrow."""
    head = "".join(map(_heading, table.header))
    body = "\n".join("<tr>" + "".join(map(_html_cell, row)) + "</tr>" for row in table.rows)
    opening = f'<table id="{table.name}" style="--columns: {len(table.header) - 1}">'  # those beside the names
    return (
        f'<div class="table">{opening}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>\n'
        f'<p class="caption">{html.escape(table.caption)}</p>'
    )


def _heading(title: str) -> str:
    """Short titles, such as 'in 90 %', stay on one line."""
    kind = ' class="short"' if len(title) < 8 else ""
    return f"<th{kind}>{html.escape(title)}</th>"


def _html_cell(cell: Cell) -> str:
    if not isinstance(cell, Measured):
        return f'<td class="{"words" if isinstance(cell, str) else "number"}">{html.escape(text(cell))}</td>'
    words = html.escape(text(cell._replace(spread=None, companion=None)))
    if cell.best:
        words = f"<strong>{words}</strong>"
    if cell.spread is not None:
        words += f'<br><span class="second">± {_digits(cell.spread, cell.decimals)}</span>'
    if cell.companion is not None:
        words += f'<br><span class="second">{number(cell.companion, 2)}</span>'
    return f'<td class="number">{words}</td>'


def _emphasized(cell: Cell, emphasis: str, escape: Callable[[str], str] = str) -> str:
    words = escape(text(cell))
    return emphasis.format(words) if isinstance(cell, Measured) and cell.best else words


FORMATS: dict[str, Callable[[Table], str]] = {".csv": to_csv, ".md": to_markdown, ".tex": to_latex}


def write_tables(made: Iterable[Table], folder: Path) -> list[Path]:
    """Every table in every format."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for table in made:
        for suffix, form in FORMATS.items():
            written.append(folder / f"{table.name}{suffix}")
            write_atomically(written[-1], form(table).encode())
    return written
