import csv

import pytest

from sureflow.evaluate.tables import appendix_table, format_value, to_csv, to_latex, to_markdown, to_text

ROWS = [
    {"label": "pod_gp", "mae": 0.001234567, "runs": 205},
    {"label": "a|b & c", "mae": None, "runs": 16, "note": "x"},
]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.03784, "0.0378"), (0.14, "0.140"), (123.4, "123"), (12345.0, "1.23e+04"), (0.0, "0.00"), (7, "7"), (None, "-")],
)
def test_three_significant_digits(value, text):
    assert format_value(value) == text


def test_csv_keeps_every_digit():
    text = to_csv(ROWS)
    first, second = csv.DictReader(text.splitlines())
    assert float(first["mae"]) == 0.001234567
    assert second == {"label": "a|b & c", "mae": "", "runs": "16", "note": "x"}
    assert to_csv(ROWS, ["runs"]) == "runs\n205\n16\n"


def test_markdown():
    assert to_markdown(ROWS).splitlines() == [
        "| label | mae | runs | note |",
        "| --- | ---: | ---: | --- |",
        "| pod_gp | 0.00123 | 205 | - |",
        r"| a\|b & c | - | 16 | x |",
    ]


def test_text():
    assert to_text(ROWS).splitlines() == [
        "label        mae  runs  note",
        "pod_gp   0.00123   205  -",
        "a|b & c        -    16  x",
    ]


def test_latex():
    assert to_latex(ROWS, ["label", "mae"]).splitlines() == [
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"label & mae \\",
        r"\midrule",
        r"pod\_gp & 0.00123 \\",
        r"a|b \& c & - \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_the_table_of_the_appendix():
    def row(label, domain, mae, area, **other):
        spreads = {"mae_spread": 0.01, "miscalibration_spread": None if area is None else 0.02}
        return {"label": label, "domain": domain, "region": "all", "variable": "mean", "mae": mae} | {
            "miscalibration": area, **spreads, **other
        }  # fmt: skip

    rows = [
        row("deterministic", "in_domain", 0.0649, None),
        row("ensemble", "in_domain", 0.0378, 0.09),
        row("ensemble", "low_mach", 0.118, 0.27),
        row("ensemble", "low_mach", 9.0, 9.0, region="shock"),
        row("ensemble", "low_mach", 9.0, 9.0, variable="T"),
    ]
    plain, ensemble = appendix_table(rows)
    assert plain == {
        "kind": "deterministic", "in-domain": "0.0649 ± 0.010", "high Mach": "-", "high altitude": "-", "low Mach": "-",
        "low altitude": "-",
    }  # fmt: skip
    assert ensemble["low Mach"] == "0.118 ± 0.010 / 0.270 ± 0.020"
    assert r"0.118 $\pm$ 0.010 / 0.270" in to_latex([ensemble])
