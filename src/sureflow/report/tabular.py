"""Tables as CSV, Markdown and LaTeX; the page shows them by its own template."""

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
    value, spread, companion = parts(cell)
    return value + (f" ± {spread}" if spread else "") + (f" / {companion}" if companion else "")


def parts(cell: Cell) -> tuple[str, str, str]:
    """The text of a value, of its spread and of its companion; empty where there is none."""
    if not isinstance(cell, Measured):
        return "n/a" if cell is None else str(cell), "", ""
    if cell.unit == "%":
        return share(cell.value), "", ""
    spread = "" if cell.spread is None else _digits(cell.spread, cell.decimals)
    companion = "" if cell.companion is None else number(cell.companion, 2)
    return _digits(cell.value, cell.decimals), spread, companion


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
