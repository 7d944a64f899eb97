import csv

import pytest

from sureflow.evaluate.tables import format_value, to_csv, to_markdown, to_text

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
