import csv
import io

import pytest

from sureflow.report.tabular import Measured, Table, number, parts, text, to_csv, to_latex, to_markdown, write_tables

TABLE = Table(
    "errors",
    "Errors & bars, 90 %",
    ("model", "MAE", "inside"),
    (
        ("A_1", Measured(0.03784321, 0.0105, best=True), Measured(0.8765, unit="%")),
        ("B<2>", Measured(0.135, companion=0.42), None),
    ),
    companion="miscalibration",
)


@pytest.mark.parametrize(
    ("value", "words"),
    [(None, "n/a"), (0.0378, "0.0378"), (0.14, "0.140"), (12345.6, "12346"), (2.0e6, "2.0e6"), (1.6e-5, "1.6e-5"), (0.0, "0.00")],
)  # fmt: skip
def test_numbers_read_as_people_write_them(value, words):
    assert number(value) == words


def test_cells_with_spread_companion_and_fixed_decimals():
    assert text(Measured(0.0378, 0.0105)) == "0.0378 ± 0.0105"
    assert text(Measured(0.0378, companion=0.09)) == "0.0378 / 0.090"
    assert text(Measured(0.42, 0.0, decimals=2)) == "0.42 ± 0.00"
    assert text(Measured(None)) == "n/a"
    assert parts(Measured(0.0378, 0.0105, companion=0.09)) == ("0.0378", "0.0105", "0.090")


def test_csv_keeps_all_digits_and_gives_spreads_columns():
    rows = list(csv.DictReader(io.StringIO(to_csv(TABLE))))
    assert rows[0] == {
        "model": "A_1", "MAE": "0.03784321", "MAE spread": "0.0105", "MAE miscalibration": "", "inside": "0.8765",
    }  # fmt: skip
    assert rows[1]["MAE miscalibration"] == "0.42"


def test_markdown_and_latex_escape_and_emphasize():
    assert "| A_1 | **0.0378 ± 0.0105** | 87.6 % |" in to_markdown(TABLE)
    tex = to_latex(TABLE)
    assert r"A\_1 & \textbf{0.0378 $\pm$ 0.0105} & 87.6 \% \\" in tex
    assert r"\caption{Errors \& bars, 90 \%}" in tex


def test_latex_breaks_sentences_and_long_tables():
    sentence = "a sentence that is too long for a line, " * 3
    tex = to_latex(Table("claims", "", ("claim", "n"), (("10⁻³ " + sentence, 1),)))
    assert r"\begin{tabular}{p{0.80\linewidth}l}" in tex
    assert "10$^-$$^3$" in tex
    long = to_latex(Table("errors", "Errors", ("n",), tuple((n,) for n in range(50))))
    assert long.startswith("\\begin{longtable}{l}\n  \\caption{Errors} \\\\\n")
    assert r"\endhead" in long


def test_every_table_is_written_in_every_format(tmp_path):
    written = write_tables([TABLE], tmp_path / "tables")
    assert [path.name for path in written] == ["errors.csv", "errors.md", "errors.tex"]
    assert all(path.read_text() for path in written)
