"""Parameters of runs from tables and names."""

from pathlib import Path

import pandas
import pytest

from sureflow.errors import SureflowError
from sureflow.importers.conditions import from_pattern, from_table, joined_columns, require_distinct_files

FILES = [Path("cases/run 1.vtu"), Path("cases/run 2.vtu")]


def table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "conditions.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("ending", [".csv", ".xlsx"])
def test_rows_are_found_by_name_and_titles_have_units(tmp_path, ending):
    frame = pandas.DataFrame({"file": ["run 2.vtu", "run 1"], "mach": [5.0, 4.0], "altitude [km]": [30.0, 20.0]})
    path = tmp_path / f"conditions{ending}"
    frame.to_csv(path, index=False) if ending == ".csv" else frame.to_excel(path, index=False)
    columns, units = from_table(path, FILES)
    assert {name: values.tolist() for name, values in columns.items()} == {"mach": [4, 5], "altitude": [20, 30]}
    assert units == {"altitude": "km"}


def test_a_table_as_windows_writes_it(tmp_path):
    path = tmp_path / "conditions.csv"
    path.write_bytes("file;mach\nüber 1.vtu;4\nüber 2.vtu;5\n".encode("cp1252"))
    columns, _ = from_table(path, [Path("cases/über 2.vtu"), Path("cases/über 1.vtu")])
    assert columns["mach"].tolist() == [5.0, 4.0]


def test_a_comma_at_the_end_of_rows_shifts_nothing(tmp_path):
    columns, _ = from_table(table(tmp_path, "file,mach,angle\nrun 1.vtu,4,1,\nrun 2.vtu,5,2,\n"), FILES)
    assert columns["mach"].tolist() == [4.0, 5.0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("file,mach\nrun 1.vtu,4\n", r"has no row for cases/run 2.vtu"),
        ("file,mach\nrun 1.vtu,4\nrun 2.vtu,5\nrun 2.vtu,6\n", r"has the rows 2 and 3 for cases/run 2.vtu"),
        (
            "file,mach\nrun 1.vtu,4\nrun 2.vtu,5\nrun 3.vtu,6\n",
            r"names 'run 3.vtu' in row 3, and there is no such file",
        ),
        ("file,mach\nrun 1.vtu,4\nrun 2.vtu,fast\n", r"mach of run 2.vtu is 'fast', which is not a finite number"),
        ("file,mach\nrun 1.vtu,4\nrun 2.vtu,\n", r"mach of run 2.vtu is missing"),
        ("title,mach\nrun 1.vtu,4\n", r"has no column 'file'"),
    ],
)
def test_rows_that_are_missing_doubled_or_wrong(tmp_path, text, words):
    with pytest.raises(SureflowError, match=words):
        from_table(table(tmp_path, text), FILES)


def test_names_give_numbers():
    files = [Path("sweep/M2.5_h-3/flow.vtu"), Path("sweep/M10_h1e1/flow.vtu")]
    columns = from_pattern("M{mach}_h{altitude_km}", files)
    assert {name: values.tolist() for name, values in columns.items()} == {"mach": [2.5, 10], "altitude_km": [-3, 10]}


def test_folders_that_all_files_share_do_not_count():
    files = [Path("/tmp/qa0b/cases/a1.csv"), Path("/tmp/qa0b/cases/a2.csv")]
    assert from_pattern("a{angle}", files)["angle"].tolist() == [1, 2]
    assert from_pattern("cases/a{angle}", files)["angle"].tolist() == [1, 2]
    with pytest.raises(SureflowError, match=r"does not fit /tmp/qa0b/cases/other\.csv"):
        from_pattern("a{angle}", [*files, Path("/tmp/qa0b/cases/other.csv")])


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("Ma{mach}", "does not fit cases/M2/M3.vtu"),
        ("M{mach}", "fits 2 parts of cases/M2/M3.vtu"),
        ("cases", "every parameter exactly once, in braces"),
    ],
)
def test_a_pattern_that_matches_nothing_or_twice(pattern, words):
    with pytest.raises(SureflowError, match=words):
        from_pattern(pattern, [Path("cases/M2/M3.vtu")])


def test_files_at_one_condition_are_named():
    columns = from_pattern("M{mach}_", [Path("M2_a.vtu"), Path("M2_b.vtu")])
    with pytest.raises(SureflowError, match=r"M2_a\.vtu and M2_b\.vtu are at the same condition \(mach=2\)"):
        require_distinct_files(columns, [Path("M2_a.vtu"), Path("M2_b.vtu")])
    with pytest.raises(SureflowError, match="mach has different values"):
        joined_columns([columns, {"mach": columns["mach"] + 1}])
