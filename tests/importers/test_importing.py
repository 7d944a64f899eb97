"""Imports from beginning to end: a folder of files in, a store of runs out, and what is refused on the way."""

import shutil

import numpy as np
import pytest
import pyvista

import sureflow as sf
from importers import vtk_cases
from sureflow.errors import SureflowError
from sureflow.importers.import_settings import ImportSettings
from sureflow.importers.importing import import_runs, recipe_beside
from sureflow.validation import read_toml, validated

PATTERN = "M{mach}_a{angle}"


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return vtk_cases.write(tmp_path_factory.mktemp("sweep") / "cases")


@pytest.fixture
def copy(cases, tmp_path):
    """A copy to spoil."""
    shutil.copytree(cases, tmp_path / "copy")
    return tmp_path / "copy"


def settings(source, **options) -> ImportSettings:
    return ImportSettings(source=source, **({"pattern": PATTERN} | options))


def test_values_units_and_places_are_those_of_the_files(cases):
    runs = sf.read_runs(cases, pattern=PATTERN, units={"angle": "deg"})
    assert runs.parameters.tolist() == [list(condition) for condition in vtk_cases.CONDITIONS]
    assert dict(zip(runs.names, runs.units, strict=True)) == {"p": "Pa", "T": "K", "u1": "m/s", "u2": "m/s"}
    assert (runs.header.axes, runs.header.location, runs.n_points) == (("x", "y"), "cells", 40)
    x, y = runs.geometry_of(0).points.T
    for case, (mach, angle) in enumerate(vtk_cases.CONDITIONS):
        np.testing.assert_allclose(runs.fields[case][0], vtk_cases.pressure(x, y, mach, angle), rtol=1e-12)
        np.testing.assert_allclose(runs.fields[case][3], angle * x, rtol=1e-12)


def test_a_store_its_recipe_and_the_memory_agree(cases, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    imported = import_runs(settings(cases), "runs.zarr")
    assert imported.runs == 9
    assert not imported.bad
    again = validated(ImportSettings, read_toml(recipe_beside(imported.store)))
    import_runs(again, "again.zarr")
    expected = sf.read_runs(cases, pattern=PATTERN).checksum
    assert sf.open_runs("runs.zarr").checksum == sf.open_runs("again.zarr").checksum == expected


def test_from_files_to_a_field_for_paraview(cases, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    import_runs(settings(cases), "runs.zarr")
    model = sf.fit(sf.open_runs("runs.zarr"), "interpolation", calibrate=False)
    from sureflow.export.exporters import write_dataset

    write_dataset(model.predict(mach=2.5, angle=4.0), "field.vtu")
    grid = pyvista.read("field.vtu")
    x, y, _ = grid.cell_centers().points.T
    found = next(grid.cell_data[name] for name in grid.cell_data if name.startswith("p"))
    np.testing.assert_allclose(found, vtk_cases.pressure(x, y, 2.5, 4.0), rtol=0.01)


def test_an_interrupted_import_goes_on(cases, tmp_path, monkeypatch):
    class Stop(Exception):
        pass

    def stop(done: int, total: int, name: str) -> None:
        if done == 4:
            raise Stop

    output = tmp_path / "runs.zarr"
    with pytest.raises(Stop):
        import_runs(settings(cases), output, progress=stop)
    assert not output.exists()
    imported = import_runs(settings(cases), output)
    assert (imported.runs, imported.found) == (9, 4)
    assert sf.open_runs(output).checksum == sf.read_runs(cases, pattern=PATTERN).checksum
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs.import.toml", "runs.zarr"]


def test_runs_are_appended(cases, copy, tmp_path):
    late = copy / "M4_a10.vtu"
    late.rename(tmp_path / "late.vtu")
    import_runs(settings(copy), tmp_path / "runs.zarr")
    imported = import_runs(settings(cases), tmp_path / "runs.zarr", append=True)
    assert (imported.runs, imported.found) == (1, 8)
    assert sf.open_runs(tmp_path / "runs.zarr").checksum == sf.read_runs(cases, pattern=PATTERN).checksum


def test_a_bad_file_is_named_and_left_out_only_if_asked(copy, tmp_path):
    whole = (copy / "M3_a5.vtu").read_bytes()
    (copy / "M3_a5.vtu").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SureflowError, match=r"M3_a5\.vtu cannot be read .*damaged or cut off"):
        import_runs(settings(copy), tmp_path / "runs.zarr")
    assert not (tmp_path / "runs.zarr").exists()
    imported = import_runs(settings(copy), tmp_path / "runs.zarr", skip_bad=True)
    assert imported.runs == 8
    assert "M3_a5.vtu" in imported.bad[0]
    assert [3.0, 5.0] not in sf.open_runs(tmp_path / "runs.zarr").parameters.tolist()


def spoiled(path, change):
    grid = pyvista.read(path)
    change(grid)
    grid.save(path)


def test_what_differs_in_one_run_is_named(copy):
    path = copy / "M3_a5.vtu"
    good = path.read_bytes()
    spoiled(path, lambda grid: grid.cell_data.pop("T"))
    with pytest.raises(SureflowError, match=r"M3_a5\.vtu has no array 'T', which other runs have"):
        sf.read_runs(copy, pattern=PATTERN)
    path.write_bytes(good)
    spoiled(path, lambda grid: grid.cell_data["p"].__setitem__(3, np.nan))
    with pytest.raises(SureflowError, match=r"M3_a5\.vtu: p has 1 values that are not finite"):
        sf.read_runs(copy, pattern=PATTERN)
    vtk_cases.solved(vtk_cases.slab((9, 5)), 3.0, 5.0).save(path)
    with pytest.raises(SureflowError, match=r"M3_a5\.vtu is not that of .*45 instead of 40 values"):
        sf.read_runs(copy, pattern=PATTERN)
    path.write_bytes(bytes(range(256)) * 20)
    with pytest.raises(SureflowError, match=r"M3_a5\.vtu cannot be read"):
        sf.read_runs(copy, pattern=PATTERN)


def test_a_run_that_seems_to_be_in_other_units_is_pointed_out(copy, tmp_path):
    """Files state no units: pascals and kilopascals differ by their size alone."""
    spoiled(copy / "M3_a5.vtu", lambda grid: grid.cell_data.__setitem__("p", grid.cell_data["p"] / 1000.0))
    imported = import_runs(settings(copy), tmp_path / "runs.zarr")
    assert len(imported.remarks) == 1
    assert "M3_a5.vtu: p is 0.00106 times as large as in M2_a5.vtu" in imported.remarks[0]
    with pytest.warns(UserWarning, match=r"M3_a5\.vtu: p is 0\.00106 times"):
        sf.read_runs(copy, pattern=PATTERN)
    spoiled(copy / "M3_a5.vtu", lambda grid: grid.cell_data.__setitem__("p", grid.cell_data["p"] * 1000.0))
    spoiled(copy / "M4_a10.vtu", lambda grid: grid.points.__imul__(1000.0))
    imported = import_runs(settings(copy, mesh="moving"), tmp_path / "moved.zarr")
    assert [remark.split(" times")[0][-19:] for remark in imported.remarks] == [": the mesh is 1e+03"]
    spoiled(copy / "M3_a5.vtu", lambda grid: grid.cell_data.__setitem__("p", grid.cell_data["p"] * 0.0))
    remarks = import_runs(settings(copy, mesh="moving"), tmp_path / "empty.zarr").remarks
    assert any("M3_a5.vtu: p is zero, and it is not in M2_a5.vtu" in remark for remark in remarks)


def test_options_that_would_do_nothing_are_refused(cases):
    with pytest.raises(SureflowError, match="has a single state and no times"):
        sf.read_runs(cases, pattern=PATTERN, time=3)
    with pytest.raises(SureflowError, match=r"mesh='auto' does not resample, so .* choose mesh=resampled"):
        sf.read_runs(cases, pattern=PATTERN, reference="other.vtu")
    with pytest.raises(SureflowError, match="time='late': it must be a number, or last"):
        sf.read_runs(cases, pattern=PATTERN, time="late")


def test_a_link_that_leads_back_is_not_followed(copy):
    (copy / "up").symlink_to("..")
    assert len(sf.read_runs(copy, pattern=PATTERN)) == 9


def test_the_first_run_may_be_bad(copy):
    (copy / "M2_a0.vtu").write_bytes(b"")
    with pytest.raises(SureflowError, match=r"M2_a0\.vtu"):
        sf.read_runs(copy, pattern=PATTERN)
    assert len(sf.read_runs(copy, pattern=PATTERN, skip_bad=True)) == 8


def test_nodes_of_each_run_are_kept(tmp_path):
    folder = vtk_cases.write(tmp_path / "cases", lambda mach, angle: vtk_cases.slab(stretch=0.1 * mach))
    runs = sf.read_runs(folder, pattern=PATTERN)
    assert runs.is_moving
    assert runs.geometry_of(8).nodes[:, 1].max() == pytest.approx(1.4)
    with pytest.raises(SureflowError, match="mesh=moving"):
        sf.read_runs(folder, pattern=PATTERN, mesh="shared")


def test_names_with_spaces_and_umlauts(cases, tmp_path):
    folder = tmp_path / "Läufe von heute"
    shutil.copytree(cases, folder)
    assert (
        sf.read_runs(f"{tmp_path}/Läufe*/M*.vtu", pattern=PATTERN).checksum
        == sf.read_runs(cases, pattern=PATTERN).checksum
    )
