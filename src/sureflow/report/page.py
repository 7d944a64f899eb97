"""The report of a study: one HTML file that needs nothing else, and its figures and tables as files beside it."""

import html
import os
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from string import Template

from matplotlib.figure import Figure

from sureflow.data.store import explain_writing
from sureflow.files import write_atomically
from sureflow.report.claims import judge_all
from sureflow.report.export import FORMATS, Table, write_tables
from sureflow.report.figures import save
from sureflow.report.findings import Findings
from sureflow.report.headline import headline
from sureflow.report.sections import SECTIONS, Material, note
from sureflow.report.study_figures import draw_study
from sureflow.report.study_tables import MAKERS, all_tables

REPORT = "report.html"
FIGURES, TABLES = "figures", "tables"
PICTURES = (".png", ".pdf")
TITLE = "Errors and error bars of hypersonic flow surrogates"


def write_report(folder: Path) -> Path:
    """Make report.html, figures/ and tables/ of a study from its stored results; returns the page."""
    findings = Findings.read(folder)
    figures, tables = draw_study(findings), all_tables(findings)
    with explain_writing(folder):
        pictures = _write_figures(figures, folder / FIGURES)
        _remove(folder / TABLES, MAKERS.keys() - tables.keys(), FORMATS)
        write_tables(tables.values(), folder / TABLES)
        write_atomically(folder / REPORT, render(findings, pictures, tables).encode())
    return folder / REPORT


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
            figure.set_layout_engine("none")  # what the first drawing laid out need not be laid out again
    return {name: (folder / f"{name}.png").read_bytes() for name in drawn}


def _remove(folder: Path, names: Iterable[str], suffixes: Iterable[str]) -> None:
    """What an earlier report made and this one cannot would be taken for a part of it (maps stay without maps.npz)."""
    for name in names:
        for suffix in suffixes:
            (folder / f"{name}{suffix}").unlink(missing_ok=True)


def render(findings: Findings, pictures: Mapping[str, bytes], tables: Mapping[str, Table]) -> str:
    """The whole page, with its pictures (PNG) in it."""
    material = Material(findings, pictures, tables, judge_all(findings))
    sections = {name: make(material) for name, make in SECTIONS.items()}
    sections = {name: content for name, content in sections.items() if content}
    links = "".join(f'<a href="#{anchor(name)}">{html.escape(name)}</a> ' for name in sections)
    body = [first_screen(material), f"<nav>{links}</nav>"]
    body += [f'<h2 id="{anchor(name)}">{html.escape(name)}</h2>\n{content}' for name, content in sections.items()]
    template = Template((resources.files("sureflow.report") / "page.html").read_text(encoding="utf-8"))
    return template.substitute(title=TITLE, body="\n".join(body))


def first_screen(material: Material) -> str:
    results = material.findings.results
    runs = results.data.get("runs") or {}
    trained = f"{runs['train']} training runs" if "train" in runs else ""
    subtitle = " · ".join(filter(None, (results.configuration.get("description"), trained)))
    return "\n".join(
        [
            f"<h1>{TITLE}</h1>",
            f'<p class="subtitle">{html.escape(subtitle)}</p>',
            note("result", " ".join(headline(material.findings, material.judged))),
            material.table("summary", missing="the study has no rows; run `sureflow study`."),
        ]
    )


def anchor(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower())
