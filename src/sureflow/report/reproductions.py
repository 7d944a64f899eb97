"""How the reproduction of a publication joins the report of its study."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sureflow.registry import Registry

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sureflow.report.findings import Findings
    from sureflow.report.tabular import Table

FigureMaker = Callable[["Findings"], "Figure | None"]
TableMaker = Callable[["Findings"], "Table | None"]


@dataclass(frozen=True)
class Reproduction:
    """What is added to the report, or takes the place of something general of the same name. By default, nothing is.

    `sections` are titles with the macros of `template` (Jinja) that make them; they follow the section "What was done".
    Sections in `replaces` are left out, and so are figures and tables whose maker is None. `facts` fill in for what
    results of earlier versions do not say. `kinds` are the labels of the published models, which come before all others.
    Tables and sections in `of_others` say something of models beside them.
    """

    title: str = "Errors and error bars of flow surrogates"
    citation: str = ""
    kinds: tuple[str, ...] = ()
    label_names: Mapping[str, str] = field(default_factory=dict)
    domain_names: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, FigureMaker | None] = field(default_factory=dict)
    map_figures: Mapping[str, FigureMaker | None] = field(default_factory=dict)  # those that show the stored maps
    tables: Mapping[str, TableMaker | None] = field(default_factory=dict)
    captions: Callable[["Findings"], Mapping[str, str]] | None = None
    headline: Callable[["Findings"], list[str]] | None = None
    remarks: Callable[["Findings"], list[str]] | None = None  # further items of what was done
    template: str = ""
    sections: Mapping[str, str] = field(default_factory=dict)
    replaces: frozenset[str] = frozenset()
    of_others: frozenset[str] = frozenset()
    context: Callable[["Findings"], Mapping[str, Any]] | None = None  # what its template needs besides

    @property
    def without_kinds(self) -> "Reproduction":
        """What stays where none of the published models was evaluated."""
        return Reproduction(
            title=self.title,
            label_names=self.label_names,
            domain_names=self.domain_names,
            facts=self.facts,
            tables={name: maker for name, maker in self.tables.items() if name in self.of_others},
            template=self.template,
            sections={title: macro for title, macro in self.sections.items() if title in self.of_others},
            context=self.context,
        )


NO_REPRODUCTION = Reproduction()
REPRODUCTIONS: Registry[Reproduction] = Registry("reproduction")
REPRODUCTIONS.later("leon2023", "sureflow.reproduction.leon2023.chapters")
# Results of earlier versions do not name their reproduction; the kind of their split tells.
BY_SPLIT = {"paper": "leon2023"}


def reproduction_of(configuration: Mapping[str, Any]) -> Reproduction:
    """The reproduction that a study belongs to."""
    split = configuration.get("split") or {}
    name = configuration.get("reproduction") or BY_SPLIT.get(split.get("kind", ""))
    return NO_REPRODUCTION if name is None else REPRODUCTIONS[name]
