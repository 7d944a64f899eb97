"""The stages of a study in their order: runs, selection, training, evaluation, explorer, results, report."""

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from sureflow.campaign.cluster import local_workers
from sureflow.campaign.contents import campaign_contents, mesh_of_store
from sureflow.campaign.lock import Busy, lock_store
from sureflow.campaign.run import Options, Standing, provenance_path, run_levels, unfollowed
from sureflow.data.run_store import RunStore
from sureflow.data.schema import first_difference
from sureflow.errors import Exists, SureflowError
from sureflow.evaluate.results import RESULTS
from sureflow.explore.explorer import EXPLORER, write_explorer
from sureflow.failures import system_sentence
from sureflow.files import write_atomically
from sureflow.importers import open_file
from sureflow.report.findings import MAPS
from sureflow.report.page import FIGURES, REPORT, TABLES, write_report
from sureflow.runtime import usable_cores
from sureflow.study.agenda import Entry, StudySettings, load_study
from sureflow.study.division import StudyRuns
from sureflow.study.judging import collect, evaluate_model, evaluated_with, training_history
from sureflow.study.stages import Stage, content_hash
from sureflow.study.training import scores, select, train_model
from sureflow.study.work import RUNS, Audience, Costs, Study, read_provenance, remark_on_versions
from sureflow.surrogate.artifact import load
from sureflow.surrogate.manifest import MANIFEST

STUDY = "study.toml"


def run_study(folder: Path, settings: StudySettings, watch: Audience, *, overwrite: bool = False) -> Path:
    """Bring a study to its end, from wherever it is; the path of its report."""
    with study_lock(folder):
        # What can be refused is refused before anything is written.
        costs = Costs(settings)
        if settings.runs is not None:
            StudyRuns(open_file(settings.runs), settings).require_runs()
        if settings.mesh_error is not None:
            require_calibrated(settings)
            for store in filter(None, (settings.mesh_error.finer, settings.mesh_error.coarser)):
                open_file(store)
        anew = replaces_runs(folder / RUNS, settings, overwrite=overwrite)
        keep_settings(folder, settings, overwrite=overwrite)
        study = Study(folder, settings, watch, costs, *read_provenance(folder))
        if remark := remark_on_versions(study):
            watch.say(remark)
        watch.begin(costs.total)
        data = StudyRuns(open_file(make_runs(study, anew=anew)), settings)
        data.require_runs()
        train = select(study, data.training)
        for entry in settings.models:
            train_model(study, entry, train, data)
        for entry in settings.models:
            evaluate_stage(study, entry, data)
        explorer_stage(study)
        finish(study, data)
        watch.advance(costs.total, "done")
    return folder / REPORT


def require_calibrated(settings: StudySettings) -> None:
    if not any(entry.has_mesh_bars for entry in settings.models):
        raise SureflowError(
            "mesh_error is a part of the error bars of calibrated models, and the study has none: give a model calibrate = true"
        )


def keep_settings(folder: Path, settings: StudySettings, *, overwrite: bool) -> None:
    """Keep the settings in the folder; refuse one that holds a study with others, or something else."""
    path = folder / STUDY
    wanted = settings.plain()
    if path.exists():
        try:
            stored = load_study(str(path)).plain()
            difference = first_difference(by_label(wanted), by_label(stored), "study")
        except SureflowError as error:
            difference = str(error)
        if difference and not overwrite:
            raise Exists(
                f"{folder} holds a study with other settings ({difference.removeprefix('study.')}): choose another "
                "folder, or allow what depends on them to be redone"
            )
    elif not overwrite and other_files(folder):
        raise SureflowError(f"{folder} holds {other_files(folder)[0]} but no {STUDY}: choose another folder")
    write_atomically(path, settings.to_toml().encode())


def replaces_runs(path: Path, settings: StudySettings, *, overwrite: bool) -> bool:
    """Whether the runs in the folder are of another campaign and so to be deleted; refused unless that was asked for."""
    if settings.campaign is None or not path.exists():
        return False
    campaign = settings.load_campaign()
    store = RunStore.open(path)
    difference = store.difference(campaign_contents(campaign, mesh_of_store(store, campaign)))
    if difference and not overwrite:
        raise Exists(
            f"{path} holds the runs of another campaign ({difference}): choose another folder, or allow them to be deleted"
        )
    return difference is not None


def by_label(settings: dict[str, Any]) -> dict[str, Any]:
    """Plain settings with the models by their labels, so that the first difference between two is a short one."""
    return settings | {"models": {entry["label"]: entry for entry in settings["models"]}}


def other_files(folder: Path) -> list[str]:
    """What a folder holds besides runs, which may have been made before the study."""
    own = (RUNS, provenance_path(folder / RUNS).name)
    return sorted(entry.name for entry in folder.iterdir() if entry.name not in own and not entry.name.startswith("."))


@contextlib.contextmanager
def study_lock(folder: Path) -> Iterator[None]:
    """One process works on a study at a time."""
    with explain_disk(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with lock_store(folder / STUDY) as lock:
        try:
            lock.take([0])
        except Busy:
            raise SureflowError(
                f"another process is working on the study in {folder}: wait for it or stop it"
            ) from None
        with explain_disk(folder):
            yield


@contextlib.contextmanager
def explain_disk(folder: Path) -> Iterator[None]:
    """A full disk or a folder that cannot be written, in one sentence; what is finished stays."""
    try:
        yield
    except OSError as error:
        raise SureflowError(system_sentence(error, folder, "; what is finished is kept")) from error


def make_runs(study: Study, *, anew: bool) -> Path:
    """The store of runs: the user's, or a campaign, which is resumable by itself and knows what is to do."""
    if study.settings.runs is not None:
        return study.settings.runs
    path, campaign = study.folder / RUNS, study.settings.load_campaign()

    def show(standing: Standing) -> None:
        note = f"runs: {standing.finished} of {standing.total}"
        study.advance("runs", standing.finished / standing.total, note)

    def workers(runs: int) -> contextlib.AbstractContextManager[Executor]:
        return local_workers(min(usable_cores(), runs))

    def follow(store: Path, level: int) -> contextlib.AbstractContextManager[Callable[[Standing], None]]:
        return unfollowed(store, level) if level else contextlib.nullcontext(show)

    standing = run_levels(path, campaign, workers, Options(overwrite=anew), follow)[path]
    study.watch.say("runs: unchanged" if standing.found == standing.total else f"runs: {standing.total} made")
    return path


def evaluate_stage(study: Study, entry: Entry, data: StudyRuns) -> None:
    name, folder = f"evaluate {entry.label}", study.folder / "models" / entry.label
    inputs = {
        "model": content_hash(folder / MANIFEST),
        **evaluated_with(entry, data),
    }
    outputs = [f"evaluation/{entry.label}.json", f"evaluation/{entry.label}.npz"]

    def make() -> None:
        (study.folder / "evaluation").mkdir(exist_ok=True)
        evaluate_model(study.folder, entry, data, lambda share: study.advance(name, share, name))

    study.stage(Stage(name, inputs, outputs, make))


def explorer_stage(study: Study) -> None:
    """A page to look at the model that a user gets without asking, where the study has it and a page can hold it."""
    defaults = [entry for entry in study.settings.models if entry.is_default and entry.series is None]
    if not defaults:
        return
    entry = next((one for one in defaults if one.calibrate), defaults[0])
    folder, path = study.folder / "models" / entry.label, study.folder / EXPLORER

    def make() -> None:
        try:
            write_explorer(load(folder), path, overwrite=True)
        except SureflowError as error:
            study.watch.say(f"no explorer: {error}")
            write_atomically(path, f"<!doctype html><title>No explorer</title><p>{escape(str(error))}</p>\n".encode())

    study.stage(Stage("explorer", {"model": content_hash(folder / MANIFEST)}, [EXPLORER], make))


def finish(study: Study, data: StudyRuns) -> None:
    """results.json and maps.npz from all evaluations, and the report from these."""
    labels = [entry.label for entry in study.settings.models]
    evaluated = {
        f"{label}{ending}": content_hash(study.folder / "evaluation" / f"{label}{ending}")
        for label in labels
        for ending in (".json", ".npz")
    }
    found = scores(study)
    histories = [row for entry in study.settings.models for row in training_history(study.folder, entry)]
    inputs = {
        "evaluations": evaluated,
        "selection": found,
        "histories": hashlib.sha256(json.dumps(histories).encode()).hexdigest(),
        "study": content_hash(study.folder / STUDY),
    }
    make = partial(collect, study.folder, data, found, histories)
    study.stage(Stage("results", inputs, [RESULTS, MAPS], make))
    written = {name: content_hash(study.folder / name) for name in (RESULTS, MAPS, EXPLORER)}
    study.stage(Stage("report", written, [REPORT, FIGURES, TABLES], lambda: write_report(study.folder)))
