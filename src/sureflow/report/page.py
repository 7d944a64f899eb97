"""The report of a study: one HTML file that needs nothing else, and its figures and tables as files beside it."""

import base64
import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FunctionLoader
from markupsafe import Markup, escape
from matplotlib.figure import Figure

from sureflow.data.disk import explain_writing
from sureflow.errors import SureflowError
from sureflow.explore.explorer import EXPLORER
from sureflow.files import write_atomically
from sureflow.report.figures import save
from sureflow.report.findings import Findings
from sureflow.report.headline import headline
from sureflow.report.sections import SECTIONS, Material
from sureflow.report.study_figures import draw_study
from sureflow.report.study_tables import all_tables, table_makers
from sureflow.report.tabular import FORMATS, Table, parts, write_tables
from sureflow.validation import shortened

REPORT = "report.html"
FIGURES, TABLES = "figures", "tables"
PICTURES = (".png", ".pdf")
OWN = "sureflow.report/sections.html"


class Part(NamedTuple):
    """A section of the page."""

    title: str
    anchor: str
    content: Markup


def write_report(folder: Path) -> Path:
    """Make report.html, figures/ and tables/ of a study from its stored results; returns the page."""
    findings = Findings.read(folder)
    with explain_contents(folder), explain_writing(folder):
        figures, tables = draw_study(findings), all_tables(findings)
        pictures = _write_figures(figures, folder / FIGURES)
        _remove(folder / TABLES, table_makers(findings).keys() - tables.keys(), FORMATS)
        write_tables(tables.values(), folder / TABLES)
        write_atomically(folder / REPORT, render(findings, pictures, tables, explorer=_beside(folder)).encode())
    return folder / REPORT


@contextlib.contextmanager
def explain_contents(folder: Path) -> Iterator[None]:
    """Results are rows of plain values that anyone may have edited: what no study writes is named, not traced."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        reason = shortened(f"{type(error).__name__}: {error}")
        raise SureflowError(
            f"{folder} holds results that no study writes ({reason}): restore them, or run the study again"
        ) from error


def _write_figures(figures: Mapping[str, Figure | None], folder: Path) -> dict[str, bytes]:
    """Every figure that could be drawn as PNG and PDF; returns the PNGs."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {name: figure for name, figure in figures.items() if figure is not None}
    _remove(folder, figures.keys() - drawn.keys(), PICTURES)
    for name, figure in drawn.items():
        for suffix in PICTURES:
            beside = folder / f".{name}.part{suffix}"
            save(figure, beside)
            os.replace(beside, folder / f"{name}{suffix}")
            figure.set_layout_engine(None)  # what the first drawing laid out need not be laid out again
    return {name: (folder / f"{name}.png").read_bytes() for name in drawn}


def _remove(folder: Path, names: Iterable[str], suffixes: Iterable[str]) -> None:
    """What an earlier report made and this one cannot would be taken for a part of it (maps stay without maps.npz)."""
    for name in names:
        for suffix in suffixes:
            (folder / f"{name}{suffix}").unlink(missing_ok=True)


def _beside(folder: Path) -> str | None:
    """The explorer of the default model, where the study made one."""
    return EXPLORER if (folder / EXPLORER).exists() else None


def render(
    findings: Findings, pictures: Mapping[str, bytes], tables: Mapping[str, Table], *, explorer: str | None = None
) -> str:
    """The whole page, with its pictures (PNG) in it; `explorer` is a page beside it to link."""
    context = findings.reproduction.context
    study = Material(findings, pictures, tables, context(findings) if context else {})
    environment = _environment()
    runs = findings.results.data.get("runs") or {}
    trained = f"{runs['train']} training runs" if "train" in runs else ""
    return environment.get_template("sureflow.report/page.html").render(
        title=findings.reproduction.title,
        subtitle=" · ".join(filter(None, (findings.results.configuration.get("description"), trained))),
        headline=" ".join(headline(findings)),
        explorer=explorer,
        study=study,
        sections=_sections(environment, study),
    )


def _sections(environment: Environment, study: Material) -> list[Part]:
    """Those of the page in their order: what was done, the reproduction's, and the general ones."""
    reproduction = study.findings.reproduction
    (first, opening), *general = SECTIONS.items()
    makers = [(first, OWN, opening)]
    makers += [(title, reproduction.template, macro) for title, macro in reproduction.sections.items()]
    makers += [(title, OWN, macro) for title, macro in general if title not in reproduction.replaces]
    made = []
    for title, template, macro in makers:
        content = getattr(environment.get_template(template).module, macro)(study)
        if content.strip():
            made.append(Part(title, anchor(title), content))
    return made


def anchor(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower())


def _environment() -> Environment:
    """Templates are named package/file, so that a reproduction has its own; all that they show is escaped."""
    environment = Environment(loader=FunctionLoader(_template), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {
        "prose": prose,
        "cell_parts": parts,
        "base64": lambda picture: base64.b64encode(picture).decode(),
    }
    return environment


def _template(name: str) -> str:
    package, _, file = name.partition("/")
    return (resources.files(package) / file).read_text(encoding="utf-8")


def prose(words: str) -> Markup:
    """Text for the page; commands between backticks are set as code."""
    return Markup(re.sub("`([^`]*)`", r"<code>\1</code>", str(escape(words))))
